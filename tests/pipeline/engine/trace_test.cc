#include <atomic>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/busy.h"
#include "records/arrays/npy_bytes.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"

/// Finds the record of a slow element through each source and stage that can trace it; the others
/// give the reason.
namespace infeed::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using test::bytes_of;
using test::npy_of;
using test::tar_of;

constexpr auto kSlow = 3000us;

/// Hands its input on, and takes long for one of its elements. The others take so long that a
/// serial map calls it one by one.
template <class T>
auto slow_at(std::uint64_t number) {
  return [number, count = std::make_shared<std::atomic<std::uint64_t>>(0)](const T& element) {
    compute_for((*count)++ == number ? kSlow : 4us);
    return element;
  };
}

class Trace : public ::testing::Test {
 protected:
  /// Returns the call for element `number` (of all passes), which takes long in a map behind the
  /// dataset.
  template <class T>
  Json slow_call(const Dataset<T>& dataset, std::uint64_t number) const {
    const std::string file = folder_.file(fmt::format("{}.profile", runs_++));
    auto iterator = (dataset | map(slow_at<T>(number), {.name = "slow"}))
                        .iterate({.recording = {.file = file, .slow_after = 1000us}});
    while (iterator.next()) {
    }
    iterator = {};
    return slow_call_in(file, number);
  }

  /// Returns the recorded call with the fewest elements of those with element `number`. Others are
  /// slow, too, where the machine takes the core away.
  static Json slow_call_in(const std::string& file, std::uint64_t number) {
    std::ifstream in(file);
    int map = -1;
    Json smallest;
    for (std::string text; std::getline(in, text);) {
      const Json line = Json::parse(text);
      if (line.contains("stages")) {
        for (const Json& stage : line.at("stages")) {
          if (stage.at("label").get<std::string>().ends_with("'slow'"))
            map = stage.at("id").get<int>();
        }
      }
      for (const char* kind : {"slow", "outlier"}) {
        if (!line.contains(kind) || line.at(kind).at("stage") != map) continue;
        const Json& call = line.at(kind);
        const auto begin = call.at("position").get<std::uint64_t>();
        const auto count = call.at("count").get<std::uint64_t>();
        if (number < begin || number >= begin + count) continue;
        if (smallest.is_null() || count < smallest.at("count")) smallest = call;
      }
    }
    return smallest;
  }

  /// Checks that the record is one of those that the call names, at most `count`.
  template <class T>
  void expect_traced(const Dataset<T>& dataset, std::uint64_t number, const std::string& file,
                     std::uint64_t record, std::uint64_t count = 256) const {
    const Json call = slow_call(dataset, number);
    ASSERT_TRUE(call.contains("file")) << call;
    EXPECT_EQ(call.at("file"), file);
    EXPECT_LE(call.at("record"), record) << call;
    const auto records = call.at("records").get<std::uint64_t>();
    EXPECT_GT(call.at("record").get<std::uint64_t>() + records, record) << call;
    EXPECT_LE(records, count) << call;
  }
  template <class T>
  void expect_untraced(const Dataset<T>& dataset, const std::string& why) const {
    const Json call = slow_call(dataset, 30);
    ASSERT_TRUE(call.contains("untraceable")) << call;
    EXPECT_EQ(call.at("untraceable"), why);
  }

  /// Two files of 100 lines.
  std::vector<std::string> text_files() const {
    std::vector<std::string> files;
    for (const std::string name : {"a.txt", "b.txt"}) {
      std::string text;
      for (int i = 0; i < 100; ++i) text += fmt::format("{:07}\n", i);
      files.push_back(folder_.write(name, text));
    }
    return files;
  }
  /// Two files of 100 records, with indices beside them.
  std::vector<std::string> record_files() const {
    std::vector<std::string> files;
    for (const std::string name : {"a.tfrecord", "b.tfrecord"}) {
      files.push_back(folder_.file(name));
      RecordWriter writer(files.back());
      for (int i = 0; i < 100; ++i) writer.write(fmt::format("{}", i));
      writer.close();
    }
    return files;
  }

  TemporaryFolder folder_;
  mutable int runs_ = 0;
};

TEST_F(Trace, Lines) {
  const auto files = text_files();
  expect_traced(lines(files), 30, files[0], 30);
  expect_traced(lines(files), 130, files[1], 30);
  expect_traced(lines(files) | skip(20), 130, files[1], 50);
}

TEST_F(Trace, RowsOfCsvInBatches) {
  std::vector<std::string> files;
  for (const std::string name : {"a.csv", "b.csv"}) {
    std::string text = "number\n";
    for (int i = 0; i < 90; ++i) text += fmt::format("{}\n", i);
    files.push_back(folder_.write(name, text));
  }
  const ColumnSchema schema = ColumnSchema().column("number", DType::int64);
  // Nine batches of ten rows a file.
  expect_traced(csv(files, schema, 10), 12, files[1], 30, 10 * 9);
  const Json call = slow_call(csv(files, schema, 10) | unbatch(), 123);
  ASSERT_TRUE(call.contains("file")) << call;
  EXPECT_EQ(call.at("file"), files[1]);
}

TEST_F(Trace, RecordsOfOneLength) {
  const auto files = text_files();
  expect_traced(fixed_length_records(files, 8), 130, files[1], 30);
  expect_traced(fixed_length_records(files, 8) | skip(50), 30, files[0], 80);
}

TEST_F(Trace, RowsOfArrays) {
  std::vector<std::string> files;
  for (const std::string name : {"a.npy", "b.npy"}) {
    files.push_back(
        folder_.write(name, npy_of("<i8", "(80,)", bytes_of(std::vector<std::int64_t>(80, 7)))));
  }
  expect_traced(npy(files, 8), 13, files[1], 24, 80);
}

TEST_F(Trace, SamplesOfTar) {
  std::vector<std::string> files;
  for (const std::string name : {"a.tar", "b.tar"}) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = 0; i < 40; ++i) members.emplace_back(fmt::format("{:03}.txt", i), "x");
    files.push_back(folder_.write(name, tar_of(members)));
  }
  expect_traced(tar(files), 50, files[1], 10);
}

TEST_F(Trace, AnyRowOfRecordFiles) {
  const auto files = record_files();
  const IndexedRecordsOptions scanned{.without_index = WithoutIndex::scan};
  expect_traced(indexed_records(files, scanned), 130, files[1], 30);
  const RecordSet set(files, {.without_index = WithoutIndex::scan});
  EXPECT_EQ(set.select({5, 150}).place_of(1).file, files[1]);
  EXPECT_EQ(set.select({5, 150}).place_of(1).record, 50U);
  EXPECT_THROW((void)set.place_of(200), Error);
}

TEST_F(Trace, AnyRowOfAShuffleOfAll) {
  const auto files = record_files();
  const auto shuffled = indexed_records(files, {.without_index = WithoutIndex::scan}) |
                        global_shuffle({.seed = 5}) | skip(1);
  for (const std::uint64_t step : {0, 30, 198}) {
    const auto found = shuffled.at(step);
    ASSERT_TRUE(found.rows.at(0).place) << found.rows[0].why();
    EXPECT_EQ(std::to_string(found.rows[0].place->record), found.element.bytes());
  }
}

/// Rows behind the end were asked for: of the last batch that made an error, and in a shuffle an
/// endless search, or a division by zero.
TEST_F(Trace, ALastBatchThatIsNotFull) {
  const auto records = indexed_records(record_files(), {.without_index = WithoutIndex::scan});
  EXPECT_FALSE(slow_call(records | batch(7), 28).empty());
  EXPECT_FALSE(slow_call(records | global_shuffle({.seed = 5}) | batch(7), 28).empty());
  EXPECT_FALSE(slow_call(records | shuffle({.buffer = 20, .seed = 5}) | batch(7), 28).empty());
  slow_call(files(text_files()) | batch(7), 0);
}

TEST_F(Trace, FilesAndFolders) {
  const auto names = text_files();
  expect_traced(files(names), 1, names[1], 0, 2);
  std::filesystem::create_directories(folder_.path() / "classes" / "cat");
  const std::string cat = folder_.write("classes/cat/1.txt", "x");
  expect_traced(folder(folder_.file("classes")), 0, cat, 0, 1);
}

TEST_F(Trace, TheFirstSideOfAZipThatComesFromAFile) {
  const auto files = text_files();
  const Json call = slow_call(zip(range(200), lines(files)), 130);
  ASSERT_TRUE(call.contains("file")) << call;
  EXPECT_EQ(call.at("file"), files[1]);
}

TEST_F(Trace, BothPartsOfAConcatenation) {
  const auto files = text_files();
  const auto both = lines({files[0]}) | concatenate(lines({files[1]}));
  expect_traced(both, 30, files[0], 30);
  expect_traced(both, 170, files[1], 70);
}

TEST_F(Trace, ThroughAChoiceBetweenDatasets) {
  const auto files = text_files();
  const std::vector<Dataset<Record>> both = {lines({files[0]}), lines({files[1]})};
  // 0 1 1 0 1 1 ...: element 31 is the 21st of the second file, element 30 the 11th of the first.
  const auto chosen = choose_from_datasets(
      both, range(90) | map([](std::int64_t i) { return std::int64_t{i % 3 != 0}; }));
  expect_traced(chosen, 31, files[1], 20, 1);
  expect_traced(chosen, 30, files[0], 10, 1);
  expect_traced(chosen | skip(20), 11, files[1], 20, 1);
}

TEST_F(Trace, ACacheThatFillsAndOneThatIsFull) {
  const auto files = text_files();
  expect_traced(lines(files) | cache(), 130, files[1], 30);
  expect_traced(lines(files) | cache() | repeat(2), 330, files[1], 30);
  // Batches of several records keep their records.
  expect_traced(lines(files) | batch(4) | cache() | repeat(2), 80, files[1], 20, 100);
  const auto cached = lines(files) | cache();
  for (const auto& _ : cached.iterate()) (void)_;
  expect_untraced(cached, "it was cached while nothing was recorded, or from no file");
}

TEST_F(Trace, AFileCacheThatIsWrittenAndOneThatIsRead) {
  const auto files = text_files();
  const auto text =
      lines(files) | map([](const Record& line) { return std::string(line.bytes()); });
  const auto cached = text | cache({.path = folder_.file("store")});
  expect_traced(cached, 130, files[1], 30);
  expect_untraced(cached, "cache read it from its store, and the stages before did not run");
}

TEST_F(Trace, BehindErrorsThatWereLeftOut) {
  const auto files = text_files();
  const auto fails = [](const Record& line) {
    if (line.bytes().back() == '5') throw std::runtime_error("five");
    return line;
  };
  // Nine of each ten lines are left: the 27th of them is line 30.
  expect_traced(lines(files) | map(fails) | skip_errors(), 27, files[0], 30);
}

TEST_F(Trace, BehindDoublesThatWereLeftOut) {
  const auto files = text_files();
  const auto number = [](const Record& line) { return std::stoi(std::string(line.bytes())) % 60; };
  // The new elements of a chunk aren't noted: it is one of the file's lines.
  expect_traced(lines({files[0]}) | map(number) | unique(), 30, files[0], 30, 100);
}

TEST_F(Trace, ABatchOfRecordsThatAreNoNeighboursNamesItsFirst) {
  const Json call =
      slow_call(lines(text_files()) | shuffle({.buffer = 64, .seed = 3}) | batch(8), 5);
  ASSERT_TRUE(call.contains("untraceable")) << call;
  EXPECT_NE(call.at("untraceable").get<std::string>().find("whose records are no neighbours, from"),
            std::string::npos)
      << call;
}

// A serial map takes a chunk at a time; if its calls take microseconds, each is looked at.
TEST_F(Trace, TheVeryElementOfASerialMap) {
  const auto busy = [](const Record& line) {
    compute_for(line.number() == 70 ? kSlow : 4us);
    return line;
  };
  const auto files = text_files();
  const std::string file = folder_.file("run.profile");
  for (const auto& _ : (lines({files[0]}) | repeat(20) | map(busy, {.name = "slow"}))
                           .iterate({.recording = {.file = file}})) {
    (void)_;
  }
  const Json call = slow_call_in(file, 1970);
  ASSERT_TRUE(call.contains("file")) << call;
  EXPECT_EQ(call.at("record"), 70) << call;
  EXPECT_EQ(call.at("records"), 1) << call;
}

TEST_F(Trace, ElementsThatComeFromNoFileSaySo) {
  expect_untraced(range(100), "range makes its elements itself");
  expect_untraced(slices(std::vector<int>(100)),
                  "slices has its elements in memory, not in a file");
}

TEST_F(Trace, AnUnorderedInterleaveSaysThatItKeepsNoOrder) {
  const auto each = [](const std::string& file) { return lines({file}); };
  expect_untraced(slices(text_files()) |
                      interleave(each, {.cycle_length = 2, .parallelism = 2, .ordered = false}),
                  "an unordered interleave keeps no order");
}

}  // namespace
}  // namespace infeed::test
