#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::vector<std::string> texts_of(const Dataset<Record>& dataset) {
  std::vector<std::string> texts;
  for (const Record& line : dataset.iterate()) texts.emplace_back(line.bytes());
  return texts;
}

TEST(Lines, PassTheSuite) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> numbers_expected;
  for (std::int64_t f = 0, next = 0; f < 3; ++f) {
    std::string text;
    for (int i = 0; i < 100; ++i, ++next) {
      text += fmt::format("{}{}", next, f == 1 ? "\r\n" : "\n");
      numbers_expected.push_back(next);
    }
    if (f == 2) text.pop_back();
    folder.write(fmt::format("{}.txt", f), text);
  }
  const auto make = [&] {
    return lines(folder.file("*.txt")) |
           map([](const Record& line) { return std::stoll(std::string(line.bytes())); });
  };
  std::vector<std::int64_t> found;
  for (const auto number : make().iterate()) found.push_back(number);
  EXPECT_EQ(found, numbers_expected);
  run_source_suite(
      [&]() -> Dataset<std::int64_t> {
        return lines(folder.file("*.txt")) | map([](const Record& line) -> std::int64_t {
                 return std::stoll(std::string(line.bytes()));
               });
      },
      numbers(numbers_expected));
}

/// The open of a pipe waited for a writer, and its read for bytes, whoever cancelled.
TEST(Lines, ACancelledIteratorWaitsForNoPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const Dataset<Record>& dataset : {lines({pipe}), records({pipe})}) {
    auto iterator = dataset.iterate();
    int writer = -1;
    std::thread canceller([&] {
      while (writer < 0) {
        std::this_thread::yield();
        writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
      }
      iterator.cancel();
    });
    EXPECT_EQ(error_of([&] { (void)iterator.next(); }).code(), ErrorCode::cancelled);
    canceller.join();
    ::close(writer);
  }
}

TEST(Lines, KnowTheirPlaces) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.txt",
                                        "\xef\xbb\xbf"
                                        "one\n\ntwo\r\nlast");
  EXPECT_THAT(texts_of(lines(file)), ElementsAre("one", "", "two", "last"));
  auto iterator = lines(file).iterate();
  iterator.next();
  iterator.next();
  const auto two = iterator.next();
  EXPECT_EQ(two->number(), 2);
  EXPECT_EQ(two->offset(), 8);
  EXPECT_EQ(two->file(), file);
  EXPECT_TRUE(texts_of(lines(folder.write("empty.txt", ""))).empty());
  EXPECT_THAT(texts_of(lines(folder.write("n.txt", "\n\n"))), ElementsAre("", ""));
}

TEST(Lines, OfGzippedAndMissingFiles) {
  const TemporaryFolder folder;
  const std::string name = folder.write("b.txt.gz", gzip("packed\nlines\n"));
  auto iterator = lines({folder.file("gone.txt"), name}).iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::not_found);
  EXPECT_EQ(iterator.next()->bytes(), "packed");
  EXPECT_EQ(iterator.next()->bytes(), "lines");
  EXPECT_FALSE(iterator.next());
  const std::string text = folder.write("long.txt", std::string(3000, 'x') + "\n");
  auto limited = lines(text, {.line_bytes_max = 1000}).iterate();
  // However much of the line came with its block.
  EXPECT_EQ(error_of([&] { limited.next(); }).code(), ErrorCode::data_loss);
  EXPECT_EQ(error_of([] { lines("gone-*.txt"); }).code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace infeed::test
