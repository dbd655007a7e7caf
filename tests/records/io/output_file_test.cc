#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "records/refused_calls.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(MakeFolder, MakesThoseAboveAndKeepsWhatIsThere) {
  const TemporaryFolder folder;
  make_folder(folder.file("a/b/c"));
  replace_file(folder.file("a/b/c/kept"), "kept");
  make_folder(folder.file("a/b/c"));
  EXPECT_EQ(read_whole(folder.file("a/b/c/kept")), "kept");
  const std::string below = folder.file("a/b/c/kept/d");
  const Error error = error_of([&] { make_folder(below); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "cannot make the folder: a part of the path is a file, not a folder");
  EXPECT_EQ(error.file(), below);
}

/// A folder "s3:" was made, or asked for.
TEST(MakeFolder, AUrlIsNoPlaceToWrite) {
  const auto expect_refused = [](const Error& error, const std::string& what) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(),
              "a URL is only read here, not written: name a " + what + " of this machine");
    EXPECT_EQ(error.file(), "s3://bucket/out");
  };
  expect_refused(error_of([] { make_folder("s3://bucket/out"); }), "folder");
  expect_refused(error_of([] { replace_file("s3://bucket/out", "x"); }), "file");
  expect_refused(error_of([] { check_can_write("s3://bucket/out"); }), "file");
  EXPECT_FALSE(fs::exists("s3:"));
}

TEST(ReplaceFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string file = folder.file("result.json");
  check_can_write(file);
  EXPECT_EQ(entries(folder.path()), 0);
  replace_file(file, "one");
  EXPECT_EQ(read_whole(file), "one");
  check_can_write(file);
  EXPECT_EQ(read_whole(file), "one");
  replace_file(file, "second");
  EXPECT_EQ(read_whole(file), "second");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ReplaceFile, SaysWhatIsWrongBeforeAndWhenWriting) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.file("none/result.json");
  for (const Error& error : {error_of([&] { check_can_write(nowhere); }),
                             error_of([&] { replace_file(nowhere, "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.message(), HasSubstr("does not exist"));
    EXPECT_EQ(error.file(), nowhere);
  }
  for (const Error& error : {error_of([&] { check_can_write(folder.path().string()); }),
                             error_of([&] { replace_file(folder.path().string(), "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("it is a folder"));
  }
}

TEST(ReplaceFile, StandardOutputIsWrittenAndNotReplaced) {
  const TemporaryFolder folder;
  std::FILE* const out = std::fopen(folder.file("out").c_str(), "w");
  fs::create_symlink(fmt::format("/proc/self/fd/{}", fileno(out)), folder.file("link"));
  check_can_write(folder.file("link"));
  replace_file(folder.file("link"), "text");
  std::fclose(out);
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(read_whole(folder.file("out")), "text");
}

TEST(ReplaceFile, ADeviceIsWrittenDirectly) {
  check_can_write("/dev/full");
  const Error error = error_of([] { replace_file("/dev/full", "x"); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(),
            "cannot write: the disk is full; free space or choose another disk (0 bytes were "
            "written)");
  EXPECT_EQ(error.file(), "/dev/full");
}

// A downloaded folder may hold links at names that we are known to use.
TEST(ReplaceFile, APlantedLinkAtThePartialNameIsNotFollowed) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  const std::string file = folder.file("a.index");
  const std::string partial = folder.file(".a.index.partial");
  fs::create_symlink(victim, partial);
  check_can_write(file);
  EXPECT_EQ(read_whole(victim), "precious");
  fs::create_symlink(victim, partial);
  replace_file(file, "one");
  EXPECT_EQ(read_whole(victim), "precious");
  EXPECT_EQ(read_whole(file), "one");
  EXPECT_FALSE(fs::is_symlink(file));
  fs::create_hard_link(victim, partial);
  replace_file(file, "two");
  EXPECT_EQ(read_whole(victim), "precious");
  fs::create_symlink(folder.file("made"), partial);  // leads nowhere yet
  replace_file(file, "three");
  EXPECT_FALSE(fs::exists(folder.file("made")));
  ASSERT_EQ(::mkfifo(partial.c_str(), 0600), 0);
  replace_file(file, "four");
  EXPECT_EQ(read_whole(file), "four");
  EXPECT_EQ(entries(folder.path()), 2);
}

TEST(ReplaceFile, AFileThatAKilledWriterLeftIsUsedAgain) {
  const TemporaryFolder folder;
  folder.write(".a.partial", "torn");
  replace_file(folder.file("a"), "whole");
  EXPECT_EQ(read_whole(folder.file("a")), "whole");
  folder.write(".a.partial", "torn");
  replace_file(folder.file("a"), "");
  EXPECT_EQ(read_whole(folder.file("a")), "");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OutputFile, LeavesAFileThatExists) {
  const TemporaryFolder folder;
  const auto expect_refused = [](const Error& error, const std::string& name) {
    EXPECT_EQ(error.code(), ErrorCode::already_exists);
    EXPECT_EQ(error.message(),
              "the file exists already and was left as it is; remove it, choose another name, or "
              "ask for it to be replaced");
    EXPECT_EQ(error.file(), name);
    EXPECT_EQ(read_whole(name), "theirs");
  };
  const std::string before = folder.write("before", "theirs");
  expect_refused(
      error_of([&] { OutputFile(before, ExistingFile::refuse, Durability::leave_to_system); }),
      before);
  const std::string between = folder.file("between");
  OutputFile file(between, ExistingFile::refuse, Durability::synced);
  file.write("ours");
  folder.write("between", "theirs");
  expect_refused(error_of([&] { file.commit(); }), between);
  EXPECT_EQ(entries(folder.path()), 2) << "nothing unfinished is left";
}

TEST(OutputFile, GetsItsNameOnFileSystemsThatKnowFewCalls) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a");
  for (const RefusedCalls::Errors& errors :
       {RefusedCalls::Errors{.rename_to_new = EINVAL},
        RefusedCalls::Errors{.rename_to_new = ENOSYS},
        RefusedCalls::Errors{.rename_to_new = EINVAL, .link = EPERM}}) {
    OutputFile file(name, ExistingFile::refuse, Durability::leave_to_system);
    file.write("ours");
    const RefusedCalls refused(errors);
    file.commit();
    EXPECT_EQ(read_whole(name), "ours");
    EXPECT_EQ(fs::hard_link_count(name), 1U);
    EXPECT_EQ(entries(folder.path()), 1);
    fs::remove(name);
  }
  OutputFile late(name, ExistingFile::refuse, Durability::leave_to_system);
  late.write("ours");
  folder.write("a", "theirs");
  const RefusedCalls refused({.rename_to_new = EINVAL});
  EXPECT_EQ(error_of([&] { late.commit(); }).code(), ErrorCode::already_exists);
  EXPECT_EQ(read_whole(name), "theirs");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OutputFile, SaysWhyItDidNotGetItsName) {
  const TemporaryFolder folder;
  OutputFile file(folder.file("a"), ExistingFile::refuse, Durability::leave_to_system);
  file.write("ours");
  {
    const RefusedCalls refused({.rename_to_new = EIO});
    EXPECT_EQ(error_of([&] { file.commit(); }).message(),
              "cannot rename into place: input/output error; the disk or its connection fails, see "
              "the system's log (4 bytes were written; the unfinished file is removed)");
  }
  EXPECT_EQ(entries(folder.path()), 0);
  OutputFile replaced(folder.file("b"), ExistingFile::replace, Durability::leave_to_system);
  fs::create_directory(folder.file("b"));
  const Error error = error_of([&] { replaced.commit(); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("cannot rename into place: it is a folder"));
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OutputFile, KnowsWhatWasWritten) {
  const TemporaryFolder folder;
  OutputFile file(folder.file("a"), ExistingFile::refuse, Durability::leave_to_system);
  EXPECT_TRUE(file.is_regular());
  file.sum_what_is_written();
  file.write("123");
  file.write("456789");
  EXPECT_EQ(file.bytes_written(), 9U);
  EXPECT_EQ(file.sum(), (FileSum{9, 0xe3069283}));
  file.commit();
  EXPECT_EQ(read_whole(folder.file("a")), "123456789");
  EXPECT_FALSE(
      OutputFile("/dev/null", ExistingFile::refuse, Durability::leave_to_system).is_regular());
}

/// The other's file got the name, before it was finished.
TEST(OutputFile, DoesNotPublishWhatAnotherWriterPutInItsPlace) {
  const TemporaryFolder folder;
  const std::string partial = folder.file(".a.partial");
  for (const auto existing : {ExistingFile::refuse, ExistingFile::replace}) {
    OutputFile file(folder.file("a"), existing, Durability::leave_to_system);
    file.write("ours");
    fs::remove(partial);
    folder.write(".a.partial", "theirs, unfinished");
    const Error error = error_of([&] { file.commit(); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(), "somebody else began to write this file as well ('" + partial +
                                   "' is another file now), so it was not put at its name; let one "
                                   "program at a time write it, then write it again");
    EXPECT_EQ(error.file(), folder.file("a"));
    file.discard();
    EXPECT_FALSE(fs::exists(folder.file("a")));
    EXPECT_EQ(read_whole(partial), "theirs, unfinished");
  }
}

TEST(OutputFile, LeavesAnotherUsersFileWhileItIsWritten) {
  if (::geteuid() != 0) return;  // only root can give a file away
  const TemporaryFolder folder;
  const std::string partial = folder.write(".a.partial", "theirs");
  ASSERT_EQ(::chown(partial.c_str(), 12345, 12345), 0);
  std::optional<File> theirs = File::open_locked(partial, O_RDWR);
  ASSERT_TRUE(theirs);
  const Error error = error_of([&] { replace_file(folder.file("a"), "ours"); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "somebody else is writing this file at this moment ('" + partial + "' is locked)");
  EXPECT_EQ(read_whole(partial), "theirs");
  theirs.reset();  // it was killed
  replace_file(folder.file("a"), "ours");
  EXPECT_EQ(read_whole(folder.file("a")), "ours");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(OwnFile, RefusesWhatLeadsElsewhere) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  const auto text = [&](const std::string& name) {
    const Error error = error_of([&] { File::open_locked(name, O_RDWR | O_CREAT | O_APPEND); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.file(), name);
    return error.message();
  };
  const std::string link = folder.file("link");
  fs::create_symlink(victim, link);
  EXPECT_EQ(text(link), "'" + link +
                            "' is a symbolic link, but should be a file of this program's own; "
                            "nothing was written; remove it if you don't know it");
  const std::string nowhere = folder.file("nowhere");
  fs::create_symlink(folder.file("made"), nowhere);
  EXPECT_THAT(text(nowhere), HasSubstr("is a symbolic link"));
  EXPECT_FALSE(fs::exists(folder.file("made")));
  const std::string hard = folder.file("hard");
  fs::create_hard_link(victim, hard);
  EXPECT_THAT(text(hard), HasSubstr("is another name of a file that has several"));
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(text(pipe), HasSubstr("is no regular file"));
  EXPECT_EQ(read_whole(victim), "precious");
  if (::geteuid() != 0) return;  // only root can give a file away
  const std::string foreign = folder.write("foreign", "theirs");
  ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(File::open_locked(foreign, O_RDWR | O_CREAT | O_APPEND));  // who may, may
  fs::permissions(folder.path(), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_THAT(text(foreign), HasSubstr("is another user's file in a folder where anybody may"));
  EXPECT_EQ(read_whole(foreign), "theirs");
}

/// It was waited for until somebody did.
TEST(ReplaceFile, APipeThatNobodyReadsIsRefused) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Error error = error_of([&] { replace_file(pipe, "text"); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("cannot write: it is a pipe that nobody reads"));
  const File reader = File::open(pipe, O_RDONLY | O_NONBLOCK);
  replace_file(pipe, "text");
  std::string text(10, '\0');
  text.resize(reader.read_some(text));
  EXPECT_EQ(text, "text");
}

/// Writes up to the limit of a file's size in a process of its own. Returns what the Error says.
std::string text_of_too_large(const std::function<void()>& write) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = error_of(write).what();
    // The signal has not stayed behind, and the program's own writes get it as before.
    sigset_t waiting;
    ::sigpending(&waiting);
    const bool is_left = ::sigismember(&waiting, SIGXFSZ) == 1;
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(is_left ? 1 : 0);
  }
  ::close(ends[1]);
  std::string said(1000, '\0');
  const ssize_t got = ::read(ends[0], said.data(), said.size());
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return said;
}

/// It was SIGXFSZ, which ended the program.
TEST(FileTooLarge, IsAnErrorAndNotTheEndOfTheProgram) {
  const TemporaryFolder folder;
  const std::string bytes(20'000, 'x');
  const std::string wanted = "the file would be larger than is allowed (ulimit -f)";
  EXPECT_THAT(text_of_too_large([&] { replace_file(folder.file("a"), bytes); }),
              HasSubstr(wanted + " (10000 bytes were written; the unfinished file is removed)"));
  EXPECT_EQ(entries(folder.path()), 0);
  EXPECT_THAT(
      text_of_too_large([&] { File::open(folder.file("b"), O_WRONLY | O_CREAT).write(bytes); }),
      HasSubstr(wanted));
  EXPECT_THAT(text_of_too_large([&] {
                sigset_t blocked;
                ::sigemptyset(&blocked);
                ::sigaddset(&blocked, SIGXFSZ);
                ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
                File::open(folder.file("c"), O_WRONLY | O_CREAT).write(bytes);
              }),
              HasSubstr(wanted));
}

}  // namespace
}  // namespace infeed::test
