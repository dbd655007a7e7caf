#include "io/open_files.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

/// Asks for files by their numbers, and sees which are open.
class OpenFilesTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kFiles = 6;

  explicit OpenFilesTest(std::size_t open_max = 3) : files_(kFiles, open_max), seen_(kFiles) {
    for (std::size_t i = 0; i < kFiles; ++i)
      names_.push_back(folder_.write(std::to_string(i), "x"));
  }
  std::shared_ptr<const InputFile> get(std::size_t number) {
    auto file = files_.get(number, names_[number]);
    EXPECT_EQ(file->name(), names_[number]);
    seen_[number] = file;
    return file;
  }
  std::vector<std::size_t> open_ones() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < kFiles; ++i) {
      if (!seen_[i].expired()) numbers.push_back(i);
    }
    return numbers;
  }

  const TemporaryFolder folder_;
  std::vector<std::string> names_;
  OpenFiles files_;
  std::vector<std::weak_ptr<const InputFile>> seen_;
};

TEST_F(OpenFilesTest, AreOpenedOnce) {
  const auto first = get(0);
  EXPECT_EQ(get(0), first);
  get(1);
  get(2);
  std::filesystem::remove(names_[0]);
  EXPECT_EQ(get(0), first);
  EXPECT_THAT(open_ones(), ElementsAre(0, 1, 2));
}

/// Threads that ask at the same time may all open the file; one of these stays.
TEST(OpenFiles, AreTheSameForAllThreads) {
  constexpr std::size_t kFiles = 100;
  const TemporaryFolder folder;
  const std::string name = folder.write("x", "x");
  OpenFiles files(kFiles, kFiles);
  std::array<std::vector<std::shared_ptr<const InputFile>>, 4> seen;
  {
    std::atomic<std::size_t> asked = 0;
    std::vector<std::jthread> threads;
    for (auto& by_thread : seen) {
      threads.emplace_back([&] {
        for (std::size_t number = 0; number < kFiles; ++number) {
          ++asked;
          // Goes on when all have come so far.
          while (asked.load() < (number + 1) * seen.size()) std::this_thread::yield();
          by_thread.push_back(files.get(number, name));
        }
      });
    }
  }
  for (std::size_t number = 0; number < kFiles; ++number) {
    ASSERT_NE(seen[0][number], nullptr);
    for (const auto& by_thread : seen) ASSERT_EQ(by_thread[number], seen[0][number]) << number;
  }
}

TEST_F(OpenFilesTest, AreClosedWhenOthersNeedTheirPlace) {
  for (std::size_t i = 0; i < 4; ++i) get(i);
  EXPECT_THAT(open_ones(), ElementsAre(1, 2, 3));
  get(1);  // so that it is 2 that was not used for longest
  get(4);
  EXPECT_THAT(open_ones(), ElementsAre(1, 3, 4));
  get(2);
  EXPECT_EQ(open_ones().size(), 3U);
}

TEST_F(OpenFilesTest, MayBeReadByTheirHolderWhenOthersTookTheirPlace) {
  const auto held = get(0);
  for (std::size_t i = 1; i < kFiles; ++i) get(i);
  std::string byte(1, '\0');
  EXPECT_EQ(held->read_at(0, byte), 1U);
  EXPECT_EQ(byte, "x");
  EXPECT_NE(get(0), held);
}

TEST_F(OpenFilesTest, CanBeAskedForAgainAfterAnError) {
  const auto get_missing = [&] { files_.get(0, folder_.file("missing")); };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of(get_missing).code(), ErrorCode::not_found);
  get(0);
  EXPECT_THAT(open_ones(), ElementsAre(0));
}

class OneOpenFile : public OpenFilesTest {
 protected:
  OneOpenFile() : OpenFilesTest(0) {}
};

TEST_F(OneOpenFile, IsTheFewest) {
  get(0);
  EXPECT_THAT(open_ones(), ElementsAre(0));
  get(1);
  EXPECT_THAT(open_ones(), ElementsAre(1));
}

}  // namespace
}  // namespace infeed::detail
