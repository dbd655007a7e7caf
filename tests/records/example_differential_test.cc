#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "records/example_reference.h"
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

TEST(ExampleDifferential, agrees_with_protobuf_on_wild_examples) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  for (int i = 0; i < 20'000; ++i) {
    const auto compared = testing::compare_with_protobuf(wild.draw());
    ASSERT_TRUE(compared.is_valid);
    ASSERT_EQ(compared.difference, "");
  }
}

TEST(ExampleDifferential, agrees_with_protobuf_on_mutated_examples) {
  const auto seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild(seed);
  int valid = 0;
  for (int i = 0; i < 60'000; ++i) {
    const auto compared = testing::compare_with_protobuf(wild.mutated(wild.draw()));
    ASSERT_EQ(compared.difference, "");
    valid += compared.is_valid ? 1 : 0;
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
