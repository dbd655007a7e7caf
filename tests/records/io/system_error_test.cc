#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <system_error>

#include <infeed/records/file.h>

#include "records/temporary_files.h"

namespace infeed {
namespace {

struct ExplainedNumber {
  int number;
  ErrorCode code;
  std::string_view text;
};

TEST(SystemError, SaysWhatToDo) {
  for (const auto& [number, code, text] : {
           ExplainedNumber{ENOENT, ErrorCode::not_found, "no such file; check the name"},
           {ENOTDIR, ErrorCode::invalid_argument, "a part of the path is a file, not a folder"},
           {EISDIR, ErrorCode::invalid_argument,
            "it is a folder; name the files in it, e.g. with '/*.tfrecord', or a file"},
           {EACCES, ErrorCode::permission_denied,
            "permission denied; check owner and mode of the file and its folders, or choose a "
            "folder that you may use"},
           {EPERM, ErrorCode::permission_denied,
            "permission denied; check owner and mode of the file and its folders, or choose a "
            "folder that you may use"},
           {ENXIO, ErrorCode::failed_precondition,
            "it is a pipe that nobody reads, or a socket; start the pipe's reader first, or remove "
            "it if you don't know it"},
           {EROFS, ErrorCode::permission_denied,
            "the file system is read-only; choose another folder"},
           {EEXIST, ErrorCode::already_exists, "it exists already; nothing was overwritten"},
           {ENOSPC, ErrorCode::resource_exhausted,
            "the disk is full; free space or choose another disk"},
           {EDQUOT, ErrorCode::resource_exhausted,
            "the quota is used up; free space or raise the quota"},
           {EFBIG, ErrorCode::resource_exhausted,
            "the file would be larger than is allowed (ulimit -f)"},
           {EMFILE, ErrorCode::resource_exhausted,
            "too many open files; open fewer at once (fewer threads) or raise the limit (ulimit "
            "-n)"},
           {ENFILE, ErrorCode::resource_exhausted,
            "too many open files; open fewer at once (fewer threads) or raise the limit (ulimit "
            "-n)"},
           {EIO, ErrorCode::data_loss,
            "input/output error; the disk or its connection fails, see the system's log"},
           {ENAMETOOLONG, ErrorCode::invalid_argument, "the name is too long"},
           {ELOOP, ErrorCode::invalid_argument, "too many symbolic links in the path"},
       }) {
    const Error error = system_error("open", "file", number);
    EXPECT_EQ(error.code(), code) << text;
    EXPECT_EQ(error.message(), "cannot open: " + std::string(text));
    EXPECT_EQ(error.file(), "file");
  }
  const Error other = system_error("read", "file", EBUSY);
  EXPECT_EQ(other.code(), ErrorCode::unavailable);
  EXPECT_EQ(other.message(), "cannot read: " + std::generic_category().message(EBUSY));
}

TEST(SystemError, NamesTheOutermostFolderThatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_EQ(system_error("open", folder.file("a/b/c/file"), ENOENT).message(),
            "cannot open: folder '" + folder.file("a") + "' does not exist");
  EXPECT_EQ(system_error("open", "no-such-folder/file", ENOENT).message(),
            "cannot open: folder 'no-such-folder' does not exist");
  EXPECT_EQ(system_error("open", folder.file("file"), ENOENT).message(),
            "cannot open: no such file; check the name");
}

}  // namespace
}  // namespace infeed
