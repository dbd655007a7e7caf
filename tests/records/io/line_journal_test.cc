#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include <infeed/records/line_journal.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

class LineJournalFile : public ::testing::TestWithParam<LineChecksum> {
 protected:
  File open() const { return File::open(file_, O_RDWR | O_CREAT | O_APPEND); }
  std::vector<std::string> read() const { return LineJournal::read(file_, GetParam()); }

  const TemporaryFolder folder_{test::memory_folder()};
  const std::string file_ = folder_.file("journal");
};

TEST_P(LineJournalFile, has_the_whole_lines_wherever_it_is_cut) {
  EXPECT_THAT(read(), IsEmpty());
  {
    LineJournal journal(open(), GetParam(), Durability::synced);
    journal.append("first");
    journal.append(std::vector<std::string>{"", "third\twith a tab"});
  }
  const std::string whole = read_whole(file_);
  EXPECT_THAT(read(), ElementsAre("first", "", "third\twith a tab"));
  EXPECT_EQ(LineJournal::text_of(read(), GetParam()), whole);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder_.write("journal", whole.substr(0, size));
    const std::vector<std::string> lines = read();
    EXPECT_EQ(lines.size(), std::count(whole.begin(), whole.begin() + size, '\n'));
    LineJournal journal(open(), GetParam(), Durability::leave_to_system);
    EXPECT_EQ(journal.lines(), lines);
    journal.append("again");
    ASSERT_EQ(read().size(), lines.size() + 1) << size;
    EXPECT_EQ(read().back(), "again");
  }
}

TEST_P(LineJournalFile, ends_at_any_flipped_bit) {
  const std::vector<std::string> lines{"one", "two", "three"};
  const std::string whole = LineJournal::text_of(lines, GetParam());
  const std::size_t second = whole.find('\n') + 1;
  for (std::size_t bit = 8 * second; bit < 8 * (whole.find('\n', second) + 1); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    folder_.write("journal", bytes);
    // A digit of the checksum in capitals is the same.
    EXPECT_TRUE(read() == std::vector<std::string>{"one"} || read() == lines) << bit;
  }
}

TEST_P(LineJournalFile, ends_at_a_line_that_is_too_short_to_be_whole) {
  const std::string first = LineJournal::text_of(std::vector<std::string>{"one"}, GetParam());
  for (std::size_t bytes = 0; bytes <= 10; ++bytes) {
    folder_.write("journal", first + std::string(bytes, '0') + "\n" + first);
    EXPECT_THAT(read(), ElementsAre("one")) << bytes;
  }
}

TEST_P(LineJournalFile, is_emptied_and_removed) {
  LineJournal journal(open(), GetParam(), Durability::leave_to_system);
  journal.append("old");
  journal.clear();
  journal.append("new");
  EXPECT_THAT(read(), ElementsAre("new"));
  LineJournal again(open(), GetParam(), Durability::leave_to_system);
  EXPECT_THAT(again.lines(), ElementsAre("new"));
  again.clear();
  EXPECT_THAT(again.lines(), IsEmpty());
  EXPECT_EQ(read_whole(file_), "");
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(file_));
  const Error gone = error_of([&] { journal.remove(); });
  EXPECT_EQ(gone.message(), "cannot remove: no such file; check the name");
  EXPECT_EQ(gone.file(), file_);
  EXPECT_EQ(error_of([&] { journal.append("more"); }).code(), ErrorCode::failed_precondition);
}

TEST_P(LineJournalFile, takes_nothing_behind_a_line_that_failed) {
  // It can't be written to, like a full disk.
  LineJournal journal(File::open(file_, O_RDONLY | O_CREAT), GetParam(), Durability::synced);
  EXPECT_EQ(error_of([&] { journal.append("lost"); }).code(), ErrorCode::unavailable);
  const Error error = error_of([&] { journal.append("lost"); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(), "an earlier line could not be written");
  EXPECT_EQ(error.file(), file_);
}

TEST_P(LineJournalFile, says_what_it_could_not_cut) {
  folder_.write("journal", "torn");
  const std::string why = std::generic_category().message(EINVAL);
  const auto open_to_read = [&] {
    return LineJournal(File::open(file_, O_RDONLY), GetParam(), Durability::leave_to_system);
  };
  const Error torn = error_of([&] { open_to_read(); });
  EXPECT_EQ(torn.message(), "cannot cut the torn end of: " + why);
  EXPECT_EQ(torn.file(), file_);
  folder_.write("journal", "");
  EXPECT_EQ(error_of([&] { open_to_read().clear(); }).message(), "cannot empty: " + why);
}

/// A pipe has no disk, so a sync of it fails.
TEST_P(LineJournalFile, is_synced_where_that_is_wanted) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  const auto pipe = [&] { return File::open(file_, O_RDWR); };
  LineJournal(pipe(), GetParam(), Durability::leave_to_system).append("line");
  EXPECT_EQ(error_of([&] {
              LineJournal(pipe(), GetParam(), Durability::synced).append("line");
            }).message(),
            "cannot sync: " + std::generic_category().message(EINVAL));
}

INSTANTIATE_TEST_SUITE_P(Places, LineJournalFile,
                         ::testing::Values(LineChecksum::before_text, LineChecksum::behind_text));

TEST(LineJournalFormat, is_that_of_old_journals) {
  const std::vector<std::string> lines{"123456789"};
  EXPECT_EQ(LineJournal::text_of(lines, LineChecksum::before_text), "e3069283 123456789\n");
  EXPECT_EQ(LineJournal::text_of(lines, LineChecksum::behind_text), "123456789\te3069283\n");
}

TEST(LockedFile, has_one_owner) {
  const TemporaryFolder folder;
  std::optional<File> first = File::open_locked(folder.file("lock"), O_RDWR | O_CREAT);
  ASSERT_TRUE(first);
  EXPECT_FALSE(File::open_locked(folder.file("lock"), O_RDWR | O_CREAT));
  first.reset();
  EXPECT_TRUE(File::open_locked(folder.file("lock"), O_RDWR | O_CREAT));
}

}  // namespace
}  // namespace infeed
