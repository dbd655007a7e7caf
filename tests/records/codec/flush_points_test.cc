#include "codec/flush_points.h"

#include <string>

#include <infeed/records/crc32c.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::little;

/// A gzip file of 1,000 records with flush points.
class FlushPoints : public ::testing::Test {
 protected:
  FlushPoints() {
    RecordWriter writer(file_, {.compression = Compression::gzip, .flush_point_bytes = 3000});
    for (int i = 0; i < 1000; ++i) writer.write("record " + std::to_string(i));
    writer.close();
    points_ = read_whole(name_);
  }

  /// Writes points with a checksum that fits.
  void write_points(std::string bytes) const {
    bytes.resize(bytes.size() - 4);
    folder_.write("f.gz.points", bytes + little(crc32c(bytes)));
  }
  Error refusal() const {
    return error_of([&] { read_flush_points(file_); });
  }
  /// Expects points with these bytes at `at` to be refused with a sentence that contains `text`.
  void expect_refused(std::size_t at, const std::string& bytes, ErrorCode code,
                      const std::string& text) const {
    std::string changed = points_;
    changed.replace(at, bytes.size(), bytes);
    write_points(changed);
    EXPECT_EQ(refusal().code(), code);
    EXPECT_THAT(refusal().what(), HasSubstr(text));
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("f.gz");
  const std::string name_ = file_ + ".points";
  std::string points_;
};

TEST_F(FlushPoints, LieBeforeRecords) {
  const std::vector<SegmentPlace> places = read_flush_points(file_);
  ASSERT_GT(places.size(), 4U);
  EXPECT_EQ(places.front(), (SegmentPlace{10, 0, 0}));
  EXPECT_EQ(places.back().first_record, 1000U);
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_TRUE(places[i - 1].may_precede(places[i])) << i;
  }
}

TEST_F(FlushPoints, ComeAsSoonAsThereAreSoManyBytes) {
  RecordWriter writer(file_, {.compression = Compression::gzip,
                              .flush_point_bytes = 200,
                              .existing = ExistingFile::replace});
  for (int i = 0; i < 9; ++i) writer.write(std::string(84, 'x'));  // 100 with what is around them
  writer.close();
  std::vector<std::uint64_t> offsets;
  for (const SegmentPlace& place : read_flush_points(file_)) offsets.push_back(place.stream_offset);
  EXPECT_THAT(offsets, ElementsAre(0, 200, 400, 600, 800, 900));
}

TEST_F(FlushPoints, NoByteIsChangedOrMissingUnseen) {
  for (std::size_t at = 0; at < points_.size(); ++at) {
    std::string changed = points_;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    folder_.write("f.gz.points", changed);
    EXPECT_THAT(refusal().what(), HasSubstr(name_)) << at;
    folder_.write("f.gz.points", points_.substr(0, at));
    EXPECT_EQ(refusal().code(), ErrorCode::data_loss) << at;
  }
}

TEST_F(FlushPoints, WhatTheyClaimIsChecked) {
  constexpr ErrorCode kDamaged = ErrorCode::data_loss;
  expect_refused(8, little(std::uint32_t{0}), kDamaged, "its checksum does not match");
  expect_refused(
      8, little(std::uint32_t{2}), ErrorCode::failed_precondition,
      "the file of flush points has format version 2, and this infeed knows versions up to "
      "1; use the infeed that wrote it, or a newer one, or remove this file: the data file "
      "is whole without it");
  expect_refused(24, little(std::uint64_t{1}), kDamaged, "it claims 1 segments");
  expect_refused(32 + 24, little(std::uint64_t{10}), kDamaged, "segment 0 does not lie before");
  expect_refused(32, little(std::uint64_t{9}), kDamaged, "do not fill the data file");
  expect_refused(16, little(std::uint64_t{8}), kDamaged, "do not fill the data file");
  // The end of the deflated stream, with nothing behind it.
  const std::uint64_t end = SegmentPlace::load(points_.data() + points_.size() - 28).file_offset;
  expect_refused(16, little(end + 8), kDamaged, "do not fill the data file");
}

TEST_F(FlushPoints, OfAFileWithoutRecordsAreOnePlace) {
  RecordWriter writer(file_, {.compression = Compression::gzip,
                              .flush_point_bytes = 1,
                              .existing = ExistingFile::replace});
  writer.close();
  EXPECT_EQ(read_flush_points(file_), (std::vector<SegmentPlace>{{10, 0, 0}}));
}

TEST_F(FlushPoints, SayWhatIsDamaged) {
  const auto damaged = [](const std::string& what) {
    return "the file of flush points is damaged: " + what +
           "; write the data file anew, or remove this one";
  };
  folder_.write("f.gz.points", points_.substr(0, 59));
  EXPECT_EQ(refusal().message(), damaged("its 59 bytes do not begin as one"));
  folder_.write("f.gz.points", points_.substr(0, 60));
  EXPECT_EQ(refusal().message(), damaged("its checksum does not match"));
  folder_.write("f.gz.points", "X" + points_.substr(1));
  EXPECT_EQ(refusal().message(),
            damaged("its " + std::to_string(points_.size()) + " bytes do not begin as one"));
  write_points(points_ + "x");
  EXPECT_THAT(refusal().message(), HasSubstr("it claims "));
  EXPECT_EQ(refusal().file(), name_);
}

TEST_F(FlushPoints, BelongToTheirDataOnly) {
  const std::string data = read_whole(file_);
  folder_.write("f.gz", data + " ");
  EXPECT_EQ(refusal().code(), ErrorCode::failed_precondition);
  EXPECT_THAT(refusal().what(), HasSubstr(std::to_string(data.size()) + " bytes, it has " +
                                          std::to_string(data.size() + 1)));
  for (const std::size_t at : {std::size_t{0}, data.size() - 1}) {
    std::string other = data;
    other[at] = static_cast<char>(other[at] + 1);
    folder_.write("f.gz", other);
    EXPECT_THAT(refusal().what(), HasSubstr("the checksum of its ends is another one")) << at;
  }
  folder_.write("f.gz", data);
  EXPECT_EQ(read_flush_points(file_).back().first_record, 1000U);
}

}  // namespace
}  // namespace infeed::detail
