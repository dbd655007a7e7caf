#include "tfrecord/resynchronise.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "records/tfrecord/framed.h"

namespace infeed::detail {
namespace {

using test::frame;
using test::little;

/// Bytes that no length has in its upper half.
std::string noise(std::size_t bytes) { return std::string(bytes, '\xff'); }

std::size_t found_in(const std::string& bytes,
                     std::uint64_t record_bytes_max = std::numeric_limits<std::uint64_t>::max()) {
  return find_header(bytes.data(), bytes.size(), record_bytes_max);
}

TEST(FindHeader, SeesOneAtAnyPlaceUpToTheLast) {
  const std::string record = frame("payload");
  const std::string header = record.substr(0, kHeaderBytes);
  for (std::size_t place = 0; place < 30; ++place) {
    EXPECT_EQ(found_in(noise(place) + header), place);
    EXPECT_EQ(found_in(noise(place) + record + record), place);
    const std::string cut = noise(place) + header.substr(0, kHeaderBytes - 1);
    EXPECT_EQ(found_in(cut), cut.size());
  }
}

TEST(FindHeader, PassesOverRecordsThatAreTooLong) {
  const std::string bytes = noise(3) + frame("payload");
  EXPECT_EQ(found_in(bytes, 7), 3U);
  EXPECT_EQ(found_in(bytes, 6), bytes.size());
  const std::uint64_t large = std::uint64_t{1} << 32;
  const std::string length = little(large);
  const std::string header = length + little(mask_crc32c(crc32c(length)));
  EXPECT_EQ(found_in(noise(5) + header, large), 5U);
  EXPECT_EQ(found_in(noise(5) + header, large - 1), 5 + kHeaderBytes);
}

/// Gives some bytes at a time.
class Steps final : public ByteSource {
 public:
  Steps(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min({into.size(), step_, bytes_.size() - read_});
    bytes_.copy(into.data(), count, read_);
    read_ += count;
    return count;
  }

 private:
  const std::string bytes_;
  const std::size_t step_;
  std::size_t read_ = 0;
};

std::uint64_t offset_behind_search(const std::string& bytes, std::size_t step) {
  StreamWindow window(std::make_unique<Steps>(bytes, step), std::make_shared<BlockPool>("x"), 100);
  EXPECT_TRUE(window.ensure(1));
  RecordSearch search(1000);
  search.resynchronise(window);
  return window.offset();
}

/// A header of which one byte is in the window, and one of which all but one are.
TEST(RecordSearch, FindsTheNextRecordWhereverTheBytesEnd) {
  for (std::size_t place = 1; place < 40; ++place) {
    for (std::size_t step = 1; step < 60; ++step) {
      ASSERT_EQ(offset_behind_search(noise(place) + frame("payload"), step), place) << step;
    }
  }
}

/// A header that lies claims a record that is found behind it. The sums of what the lie covers are
/// kept by their places in the stream, at which others ask for them.
TEST(RecordSearch, KeepsSumsByTheirPlaces) {
  std::string payload(1000, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * i * 7 + i);
  const std::string claimed = std::string(50, 'b') + frame(payload) + std::string(300, 'c');
  const std::string length = little(std::uint64_t{claimed.size() - kFooterBytes});
  const std::string bytes = noise(1) + length + little(mask_crc32c(crc32c(length))) + claimed;
  StreamWindow window(std::make_unique<Steps>(bytes, bytes.size()),
                      std::make_shared<BlockPool>("x"), 100);
  ASSERT_TRUE(window.ensure(1));
  RecordSearch search(10'000);
  search.resynchronise(window);
  ASSERT_EQ(window.offset(), 1 + kHeaderBytes + 50);
  const std::string_view found(window.data() + kHeaderBytes, payload.size());
  EXPECT_EQ(found, payload);
  EXPECT_TRUE(search.is_suspicious(window));
  EXPECT_EQ(search.payload_crc32c(found, window.offset() + kHeaderBytes), crc32c(payload));
}

TEST(RecordSearch, GoesToTheEndWhereThereIsNone) {
  for (const std::size_t bytes : {1, 15, 16, 17, 300}) {
    for (const std::size_t step : {1, 7, 1000}) {
      EXPECT_EQ(offset_behind_search(noise(bytes), step), bytes);
    }
  }
  std::string damaged = noise(3) + frame("payload");
  damaged.back() ^= 1;
  EXPECT_EQ(offset_behind_search(damaged, 1000), damaged.size());
}

}  // namespace
}  // namespace infeed::detail
