#include <fmt/format.h>
#include <string>
#include <string_view>

#include "records/tfrecord/framed.h"
#include "tfrecord/record_damage.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

TEST(RecordDamageTexts, SayWhatIsThereAndWhatWasExpected) {
  EXPECT_EQ(describe_cut_header(5),
            "record is cut inside its header: 5 of 12 bytes are there; the file was probably not "
            "written or copied to its end");
  EXPECT_EQ(describe_cut({FrameState::needs_bytes, 40}, 20),
            "record is cut: 20 of 56 bytes are there (a payload of 40 and 16 around it); the file "
            "was probably not written or copied to its end");
  EXPECT_EQ(describe_too_long({FrameState::too_long, 1}, 0),
            "record claims 1 byte, more than record_bytes_max (0); raise it if such records are "
            "meant to be");
  EXPECT_EQ(describe_too_long({FrameState::too_long, 2}, 1),
            "record claims 2 bytes, more than record_bytes_max (1); raise it if such records are "
            "meant to be");
}

TEST(RecordDamageTexts, ShowBothChecksums) {
  const std::string length = test::little(std::uint64_t{5});
  const std::string header = length + test::little(std::uint32_t{0x00345678});
  EXPECT_EQ(describe_bad_length(header.data()),
            fmt::format("record header is damaged: its length 5 has the checksum {:08x}, but "
                        "00345678 is stored",
                        mask_crc32c(crc32c(length))));
  const std::string bytes = "xy" + test::little(std::uint32_t{0x00abcdef});
  EXPECT_EQ(describe_bad_payload(std::string_view(bytes).substr(0, 2), 7),
            fmt::format("record is damaged: its 2 bytes have the checksum {:08x}, but 00abcdef is "
                        "stored",
                        mask_crc32c(7)));
}

TEST(RequireRecord, TakesARecordOfAllTheBytesAndNoOther) {
  const std::string good = test::frame("payload");
  const auto refused = [](const std::string& bytes, std::uint64_t size) {
    const Error error = error_of([&] {
      require_record(bytes.data(), size, Verify::everything, "file", {3, 100});
    });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), "file");
    EXPECT_EQ(error.offset(), 100U);
    EXPECT_EQ(error.record(), 3U);
    return error.message();
  };
  EXPECT_EQ(require_record(good.data(), good.size(), Verify::everything, "file", {3, 100}),
            "payload");
  const auto none_of = [](std::size_t payload_bytes) {
    return fmt::format(
        "there is no record of {} bytes at this place: the record is damaged, or the "
        "index is another file's (infeed verify tells which)",
        payload_bytes);
  };
  EXPECT_EQ(refused(good, good.size() - 1), none_of(6));
  EXPECT_EQ(refused(good + "x", good.size() + 1), none_of(8));
  std::string bad = good;
  bad[12] = 'P';
  EXPECT_EQ(refused(bad, bad.size()),
            "record is damaged: its 7 bytes do not have the checksum that is stored");
  EXPECT_EQ(require_record(bad.data(), bad.size(), Verify::lengths, "file", {3, 100}), "Payload");
}

}  // namespace
}  // namespace infeed::detail
