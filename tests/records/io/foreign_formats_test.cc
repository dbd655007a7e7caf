#include <infeed/records/record_reader.h>

#include "io/byte_source.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// Files in formats that aren't read are named, instead of read as lines of garbage.
namespace infeed::detail {
namespace {

struct ForeignFile {
  std::string front;
  std::string said;
};

const std::vector<ForeignFile>& foreign_files() {
  static const std::vector<ForeignFile> files = {
      {"\x02\x21\x4c\x18", "LZ4's legacy format"},
      {"INFEEDL4", "an older infeed's LZ4 format"},
      {"INFEEDIX", "an index that lies beside a record file"},
      {"INFEEDGZ", "name the record files alone"},
      {"<!DOCTYPE html>\n<html>", "an HTML page"},
      {"\n <HTML lang=en>", "an HTML page"},
      {std::string("\xfd\x37\x7a\x58\x5a\x00", 6), "compressed by xz"},
      {"BZh91AY&SY\x94", "compressed by bzip2"},
      {"PK\x03\x04\x14", "a zip archive"},
      {"7z\xbc\xaf\x27\x1c", "a 7z archive"},
      {"PAR1\x15\x04", "a Parquet file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "git lfs pull"},
  };
  return files;
}

TEST(ForeignFormats, AreNamedWithAnAdvice) {
  const TemporaryFolder folder;
  for (const ForeignFile& foreign : foreign_files()) {
    SCOPED_TRACE(foreign.said);
    const std::string file = folder.write("file", foreign.front + std::string(100, 'x'));
    const Error of_text = error_of([&] { open_data_source(file, {}); });
    EXPECT_EQ(of_text.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(of_text.file(), file);
    EXPECT_THAT(of_text.message(), HasSubstr(foreign.said));
    EXPECT_THAT(error_of([&] { const RecordReader reader(file); }).message(),
                HasSubstr(foreign.said));
  }
}

TEST(ForeignFormats, AreReadAsTheyAreWhereNoneIsNamed) {
  const TemporaryFolder folder;
  for (const ForeignFile& foreign : foreign_files()) {
    const std::string file = folder.write("file", foreign.front);
    const OpenedSource opened = open_data_source(file, {.compression = Compression::none});
    std::string bytes(foreign.front.size() + 1, '?');
    bytes.resize(opened.source->read(bytes));
    EXPECT_EQ(bytes, foreign.front);
  }
}

TEST(ForeignFormats, ShortTextsAreNone) {
  const TemporaryFolder folder;
  for (const std::string text :
       {"", "P", "PK", "BZh9", "version https://git", "<", "<htm", "  ", "<!doctype svg"}) {
    EXPECT_NO_THROW(open_data_source(folder.write("file", text), {})) << text;
  }
}

}  // namespace
}  // namespace infeed::detail
