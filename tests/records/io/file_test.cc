#include "infeed/records/file.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <infeed/records/crc32c.h>
#include <infeed/records/limits.h>

#include "io/file_ends.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

TEST(FileOpen, SaysWhatItWasOpenedFor) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.file("none/file");
  const auto refusal = [&](int flags) {
    const Error error = error_of([&] { File::open(nowhere, flags); });
    EXPECT_EQ(error.file(), nowhere);
    return error.message();
  };
  const std::string why = ": folder '" + folder.file("none") + "' does not exist";
  EXPECT_EQ(refusal(O_RDONLY), "cannot open" + why);
  EXPECT_EQ(refusal(O_WRONLY | O_CREAT), "cannot create" + why);
  EXPECT_EQ(refusal(O_WRONLY), "cannot write" + why);
  EXPECT_EQ(refusal(O_RDWR), "cannot write" + why);
  const Error error = error_of([&] { File::open(nowhere, O_RDONLY, "shown"); });
  EXPECT_EQ(error.file(), "shown");
  EXPECT_EQ(File::open(folder.write("x", ""), O_RDONLY, "shown").name(), "shown");
  EXPECT_EQ(
      error_of([&] { File::open_stream(folder.path()); }).message(),
      "cannot read: it is a folder; name the files in it, e.g. with '/*.tfrecord', or a file");
}

TEST(FileOpen, LeavesTheRightsOfANewFileToTheUsersMask) {
  const TemporaryFolder folder;
  const std::string name = folder.file("new");
  const mode_t before = ::umask(027);
  File::open(name, O_WRONLY | O_CREAT);
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(name).permissions(), std::filesystem::perms{0640});
}

bool is_open_descriptor(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

TEST(FileOpen, OwnsItsDescriptorAlone) {
  const TemporaryFolder folder;
  const std::string name = folder.write("x", "x");
  int descriptor = -1;
  {
    File first = File::open(name, O_RDONLY);
    descriptor = first.descriptor();
    EXPECT_EQ(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    File second = std::move(first);
    EXPECT_EQ(second.descriptor(), descriptor);
    EXPECT_EQ(second.name(), name);
    File third;
    EXPECT_FALSE(third.is_open());
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    EXPECT_EQ(third.name(), name);
    EXPECT_TRUE(third.is_open());
  }
  EXPECT_FALSE(is_open_descriptor(descriptor));
  File closed = File::open(name, O_RDONLY);
  descriptor = closed.descriptor();
  closed.close();
  EXPECT_FALSE(closed.is_open());
  EXPECT_FALSE(is_open_descriptor(descriptor));
}

TEST(FileSize, IsThatOfARegularFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(File::open_to_read(folder.write("x", "12345")).size_bytes(), 5U);
  EXPECT_EQ(File::open_stream("/dev/null").size_bytes(), std::nullopt);
}

TEST(FileSync, FailsWhereThereIsNoDisk) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  File pipe = File::open(folder.file("pipe"), O_RDWR);
  EXPECT_EQ(error_of([&] { pipe.sync(); }).message(),
            "cannot sync: " + std::generic_category().message(EINVAL));
  sync_folder(folder.path());
  sync_folder("/proc");  // knows no such call, as some shared folders
  EXPECT_EQ(error_of([&] { sync_folder(folder.file("none")); }).code(), ErrorCode::not_found);
}

TEST(FileRead, FailsWhereTheFileIsOpenForWritingOnly) {
  const TemporaryFolder folder;
  const File file = File::open(folder.file("x"), O_WRONLY | O_CREAT);
  const std::string why = "cannot read: " + std::generic_category().message(EBADF);
  std::string into(10, '\0');
  const Error at = error_of([&] { file.read_at(7, into); });
  EXPECT_EQ(at.message(), why);
  EXPECT_EQ(at.offset(), 7U);
  EXPECT_EQ(error_of([&] { static_cast<void>(file.read_some(into)); }).message(), why);
}

TEST(ReadFile, WithHolesIsReadUpToALimit) {
  const TemporaryFolder folder;
  const std::string name = folder.write("sparse", "begin");
  std::filesystem::resize_file(name, limits::sparse_file_bytes);
  EXPECT_EQ(read_file(name).size(), limits::sparse_file_bytes);
  std::filesystem::resize_file(name, limits::sparse_file_bytes + 1);
  const Error error = error_of([&] { read_file(name); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.message(),
              HasSubstr("files with holes are read whole up to 64 MiB; take it from a copy"));
  const std::string empty = folder.write("empty", "");
  std::filesystem::resize_file(empty, limits::sparse_file_bytes + 1);
  EXPECT_EQ(error_of([&] { read_file(empty); }).message(),
            "the file claims 67108865 bytes, but was written up to byte 0 only; files with holes "
            "are read whole up to 64 MiB; take it from a copy");
  EXPECT_EQ(read_file(folder.write("full", std::string(limits::sparse_file_bytes + 1, 'x'))).size(),
            limits::sparse_file_bytes + 1);
}

TEST(ReadStream, EndsWithADeviceThatHasNoEnd) {
  const Error error = error_of([] { read_stream("/dev/zero"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "this is a device, which gave 64 MiB and goes on; name a file");
  EXPECT_EQ(error.file(), "/dev/zero");
  // A pipe may give more.
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  constexpr std::size_t kBytes = (std::size_t{64} << 20) + 5000;
  std::jthread writer([&] { File::open(pipe, O_WRONLY).write(std::string(kBytes, 'x')); });
  EXPECT_EQ(read_stream(pipe).size(), kBytes);
}

/// The shell opens it: `infeed convert /dev/stdin < pipe`.
TEST(OpenStream, APipeAtTheStandardInputEndsWithItsWriter) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int before = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const File given = File::open(pipe, O_RDONLY | O_NONBLOCK);
  File::open(pipe, O_WRONLY).write("text");
  ASSERT_EQ(::dup2(given.descriptor(), STDIN_FILENO), STDIN_FILENO);
  const File in = File::open_stream("/dev/stdin");
  ::close(STDIN_FILENO);
  if (before >= 0) ::dup2(before, STDIN_FILENO);
  if (before >= 0) ::close(before);
  std::string into(10, '\0');
  EXPECT_EQ(in.read_some(into), 4U);
  pollfd waited{in.descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&waited, 1, 0), 1) << "it waits for another writer";
  EXPECT_EQ(in.read_some(into), 0U);
}

TEST(FolderOf, IsWhereAFileLies) {
  EXPECT_EQ(folder_of("a/b"), "a");
  EXPECT_EQ(folder_of("/a/b/c"), "/a/b");
  EXPECT_EQ(folder_of("/b"), "/");
  EXPECT_EQ(folder_of("b"), ".");
  EXPECT_EQ(folder_of("https://host/a/b"), "https://host/a");
  EXPECT_EQ(folder_of("https://host/a/b?x=/y/z"), "https://host/a");
  EXPECT_EQ(folder_of("https://host/a/b#/y"), "https://host/a");
  EXPECT_EQ(folder_of("s3://bucket/a?x/y"), "s3://bucket/a?x");
}

TEST(FileEnds, AreTheFirstAndTheLastBytes) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  for (const std::size_t size : {0, 10, 4096, 4097, 10'000}) {
    const std::string bytes = test::random_bytes(random, size);
    const auto file = detail::open_input_file(folder.write("x", bytes));
    const std::size_t part = size < 4096 ? size : 4096;
    EXPECT_EQ(detail::crc_of_ends(*file, size),
              crc32c(bytes.substr(0, part) + bytes.substr(size - part)))
        << size;
    EXPECT_EQ(detail::require_regular(*file), size);
  }
}

class FileOfUnknownSize final : public detail::InputFile {
 public:
  const std::string& name() const override { return name_; }
  std::optional<std::uint64_t> size_bytes() const override { return std::nullopt; }
  std::size_t read_at(std::uint64_t, std::span<char>) const override { return 0; }

 private:
  const std::string name_ = "pipe";
};

TEST(FileEnds, AreKnownOfRegularFilesOnly) {
  const Error error = error_of([] { detail::require_regular(FileOfUnknownSize()); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(), "only regular files can be indexed");
  EXPECT_EQ(error.file(), "pipe");
}

}  // namespace
}  // namespace infeed
