#include <algorithm>
#include <cstring>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <map>

#include <infeed/error.h>
#include <infeed/records/example.h>

#include "example.pb.h"
#include "records/temporary_files.h"
#include "records/wire_writer.h"

/// Random bytes that are almost Examples, read by libprotobuf and by us.
namespace infeed {
namespace {

using testing::bytes_field;
using testing::varint;
using testing::varint_field;

/// Draws Examples as protobuf allows them to be written, however oddly.
class WildExamples {
 public:
  explicit WildExamples(std::uint64_t seed) : random_(seed) {}

  std::string draw() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(100) < 90 ? 1 : pick(3); i < n; ++i) {
      bytes += unknown() + bytes_field(1, features());
    }
    return bytes + unknown();
  }
  std::string mutated(std::string bytes) {
    for (std::size_t i = 0, n = 1 + pick(3); i < n && !bytes.empty(); ++i) {
      const std::size_t at = pick(bytes.size());
      switch (pick(4)) {
        case 0:
          bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          bytes.erase(at, 1 + pick(4));
          break;
        case 2:
          bytes.insert(at, 1 + pick(3), static_cast<char>(random_()));
          break;
        default:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
          break;
      }
    }
    return bytes;
  }
  std::size_t pick(std::size_t n) { return random_() % n; }

 private:
  std::string unknown() {
    if (pick(20) != 0) return {};
    const auto field = static_cast<std::uint32_t>(4 + pick(40));
    switch (pick(4)) {
      case 0:
        return varint_field(field, random_());
      case 1:
        return bytes_field(field, testing::random_bytes(random_, pick(9)));
      case 2:
        return varint(field << 3 | 5) + testing::random_bytes(random_, 4);
      default:
        return varint(field << 3 | 1) + testing::random_bytes(random_, 8);
    }
  }
  std::string name() {
    static constexpr std::array<const char*, 7> kNames = {
        "a", "b", "label", "image", "", "a_long_name_of_a_feature", "a_long_name_of_a_featurf"};
    return kNames.at(pick(kNames.size()));
  }
  std::string features() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(6); i < n; ++i) {
      bytes += unknown() + bytes_field(1, map_entry()) + unknown();
    }
    return bytes;
  }
  std::string map_entry() {
    const std::string key = pick(30) == 0 ? "" : bytes_field(1, name());
    std::string value = pick(30) == 0 ? "" : bytes_field(2, feature());
    if (pick(30) == 0) value += bytes_field(2, feature());
    if (pick(10) == 0) return value + unknown() + key + unknown();
    return key + unknown() + value + unknown();
  }
  std::string feature() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(15) != 0 ? 1 : pick(4); i < n; ++i) {
      const auto kind = static_cast<std::uint32_t>(1 + pick(3));
      bytes += unknown() + bytes_field(kind, list(kind)) + unknown();
    }
    return bytes;
  }
  std::string list(std::uint32_t kind) {
    std::string bytes;
    for (std::size_t i = 0, n = pick(10) != 0 ? 1 : pick(4); i < n; ++i) {
      bytes += unknown();
      if (kind == 1) {
        bytes += bytes_field(1, testing::random_bytes(random_, pick(200)));
      } else if (kind == 2) {
        bytes += pick(5) == 0 ? varint(1 << 3 | 5) + testing::random_bytes(random_, 4)
                              : bytes_field(1, testing::random_bytes(random_, 4 * pick(20)));
      } else if (pick(5) == 0) {
        bytes += varint_field(1, random_() >> pick(64));
      } else {
        std::string packed;
        for (std::size_t k = pick(pick(8) == 0 ? 300 : 20); k > 0; --k)
          packed += varint(random_() >> pick(64));
        bytes += bytes_field(1, packed);
      }
    }
    return bytes;
  }

  std::mt19937_64 random_;
};

void expect_equal(const reference::Feature& expected, const FeatureView& view) {
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;
  switch (expected.kind_case()) {
    case reference::Feature::KIND_NOT_SET:
      ASSERT_FALSE(view.is_present());
      return;
    case reference::Feature::kBytesList:
      ASSERT_TRUE(view.is_present());
      ASSERT_EQ(view.kind(), FeatureKind::bytes);
      view.append_bytes(bytes);
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.bytes_list().value().begin(),
                             expected.bytes_list().value().end()));
      ASSERT_EQ(view.count(), bytes.size());
      return;
    case reference::Feature::kFloatList: {
      ASSERT_TRUE(view.is_present());
      ASSERT_EQ(view.kind(), FeatureKind::floats);
      floats.resize(view.count());
      view.read_floats(std::span(floats));
      const auto& values = expected.float_list().value();
      ASSERT_EQ(floats.size(), static_cast<std::size_t>(values.size()));
      ASSERT_TRUE(floats.empty() ||
                  std::memcmp(floats.data(), values.data(), 4 * floats.size()) == 0);
      return;
    }
    case reference::Feature::kInt64List:
      ASSERT_TRUE(view.is_present());
      ASSERT_EQ(view.kind(), FeatureKind::integers);
      integers.resize(view.count());
      view.read_integers(std::span(integers));
      ASSERT_TRUE(std::equal(integers.begin(), integers.end(),
                             expected.int64_list().value().begin(),
                             expected.int64_list().value().end()));
      return;
  }
}

/// Returns whether libprotobuf takes it; then we must, with the same values. (We may take more:
/// what nobody asks for is not looked into.)
bool compare(const std::string& bytes) {
  reference::Example message;
  const bool is_valid = message.ParseFromString(bytes);
  if (!is_valid) {
    try {
      summarise_example(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data_loss);
    }
    return false;
  }
  std::vector<std::string> names = {"not there"};
  for (const auto& [name, feature] : message.features().feature()) names.push_back(name);
  const ExampleParser parser(names);
  std::vector<FeatureView> views(names.size());
  parser.parse(bytes, views);
  EXPECT_FALSE(views[0].is_present());
  for (std::size_t i = 1; i < names.size(); ++i) {
    expect_equal(message.features().feature().at(names[i]), views[i]);
  }
  EXPECT_EQ(summarise_example(bytes).size(), names.size() - 1);
  return true;
}

TEST(ExampleDifferential, agrees_with_protobuf_on_wild_examples) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  for (int i = 0; i < 20'000 && !::testing::Test::HasFatalFailure(); ++i) {
    ASSERT_TRUE(compare(wild.draw()));
  }
}

TEST(ExampleDifferential, agrees_with_protobuf_on_mutated_examples) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  int valid = 0;
  for (int i = 0; i < 60'000 && !::testing::Test::HasFatalFailure(); ++i) {
    valid += compare(wild.mutated(wild.draw())) ? 1 : 0;
  }
  EXPECT_GT(valid, 1000);
}

TEST(ExampleDifferential, protobuf_reads_what_we_build) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    ExampleBuilder builder;
    std::vector<std::int64_t> integers;
    std::vector<float> floats;
    std::vector<std::string> strings;
    for (std::size_t n = random() % 50; n > 0; --n) {
      integers.push_back(static_cast<std::int64_t>(random() >> random() % 64));
      floats.push_back(static_cast<float>(random()));
      strings.push_back(testing::random_bytes(random, random() % 200));
    }
    builder.bytes("strings", std::span<const std::string>(strings))
        .integers("integers", std::span<const std::int64_t>(integers))
        .floats("floats", std::span<const float>(floats));
    reference::Example message;
    ASSERT_TRUE(message.ParseFromString(builder.encode()));
    const auto& features = message.features().feature();
    ASSERT_EQ(features.size(), 3U);
    const auto& i = features.at("integers").int64_list().value();
    const auto& f = features.at("floats").float_list().value();
    const auto& s = features.at("strings").bytes_list().value();
    ASSERT_TRUE(std::equal(i.begin(), i.end(), integers.begin(), integers.end()));
    ASSERT_TRUE(std::equal(f.begin(), f.end(), floats.begin(), floats.end()));
    ASSERT_TRUE(std::equal(s.begin(), s.end(), strings.begin(), strings.end()));
  }
}

}  // namespace
}  // namespace infeed
