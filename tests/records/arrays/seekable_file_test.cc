#include "infeed/records/seekable_file.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <thread>

#include "records/codec/zstd_framed.h"
#include "records/refused_calls.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::string whole_of(const SeekableFile& file) {
  std::string bytes(static_cast<std::size_t>(file.size_bytes()), '\0');
  file.read_exactly(0, bytes);
  return bytes;
}

TEST(SeekableFile, OfAPlainFileIsTheFile) {
  const TemporaryFolder folder;
  const std::string name = folder.write("x", "0123456789");
  const SeekableFile file(name);
  EXPECT_EQ(file.name(), name);
  EXPECT_EQ(file.size_bytes(), 10U);
  std::string part(4, '\0');
  EXPECT_EQ(file.read_at(8, part), 2U);
  file.read_exactly(6, part);
  EXPECT_EQ(part, "6789");
  const Error error = error_of([&] { file.read_exactly(7, part); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(), "the file is cut: 3 of 4 bytes are there");
  EXPECT_EQ(error.offset(), 7U);
  EXPECT_EQ(error.file(), name);
  EXPECT_EQ(read_whole(file.path()), "0123456789");
}

TEST(SeekableFile, IsMappedOnce) {
  const TemporaryFolder folder;
  const SeekableFile file(folder.write("x", "0123456789"));
  const auto mapped = file.map();
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(std::string(mapped.get(), 10), "0123456789");
  EXPECT_EQ(file.map(), mapped);
  EXPECT_EQ(SeekableFile(folder.write("empty", "")).map(), nullptr);
}

TEST(SeekableFile, OfACompressedFileIsACopy) {
  const TemporaryFolder folder;
  const std::string text(3'000'000, 't');  // longer than what is copied at once
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    const std::string name = folder.write("x", packed);
    const SeekableFile file(name);
    EXPECT_EQ(file.name(), name);
    EXPECT_TRUE(whole_of(file) == text);
    EXPECT_EQ(whole_of(SeekableFile(name, Compression::none)), packed);
  }
  const std::string name = folder.write("x", zlib(text));
  EXPECT_EQ(whole_of(SeekableFile(name)), zlib(text)) << "text may begin like it";
  EXPECT_TRUE(whole_of(SeekableFile(name, Compression::zlib)) == text);
}

TEST(SeekableFile, OfAPipeIsACopy) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& bytes : {std::string("some text"), gzip("some text")}) {
    std::jthread writer([&] { File::open(pipe, O_WRONLY).write(bytes); });
    const SeekableFile file(pipe);
    EXPECT_EQ(whole_of(file), "some text");
    EXPECT_EQ(file.name(), pipe);
  }
}

TEST(SeekableFile, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  const Error device = error_of([] { SeekableFile("/dev/zero"); });
  EXPECT_EQ(device.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(device.message(), "this is a device, which may go on for ever; name a file or a pipe");
  EXPECT_EQ(device.file(), "/dev/zero");
  EXPECT_EQ(error_of([&] { SeekableFile(folder.file("none")); }).code(), ErrorCode::not_found);
  EXPECT_EQ(
      error_of([&] { SeekableFile(folder.path().string()); }).message(),
      "cannot read: it is a folder; name the files in it, e.g. with '/*.tfrecord', or a file");
  const std::string packed = gzip("some text");
  const std::string cut = folder.write("cut", packed.substr(0, packed.size() - 1));
  const Error damage = error_of([&] { SeekableFile{cut}; });
  EXPECT_EQ(damage.code(), ErrorCode::data_loss);
  EXPECT_EQ(damage.file(), cut) << "and not the name under which it was opened";
}

TEST(NamelessFile, LiesInTheFolderForTemporaryFiles) {
  const TemporaryFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  File file = make_nameless_file("a test");
  EXPECT_EQ(file.name(), "the copy of a test in " + folder.path().string() + " (TMPDIR)");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  file.write("some text");
  EXPECT_EQ(read_file(file), "some text");
  {
    const RefusedCalls refused({.nameless = EOPNOTSUPP});  // as NFS does
    File unnamed = make_nameless_file("a test");
    EXPECT_EQ(unnamed.name(), file.name());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    unnamed.write("other text");
    EXPECT_EQ(read_file(unnamed), "other text");
    EXPECT_EQ(read_whole(SeekableFile("x", std::move(unnamed)).path()), "other text");
  }
  ::setenv("TMPDIR", folder.file("none").c_str(), 1);
  const Error error = error_of([] { make_nameless_file("a test"); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("the folder for temporary files can't be used ("),
                    HasSubstr("); set TMPDIR to one with room for a copy of a test")));
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace infeed::test
