#include <fmt/format.h>
#include <fstream>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Texts = Dataset<std::vector<std::string>>;

std::string text_of(const Record& record) { return std::string(record.bytes()); }

struct Sample {
  std::string text;
};

std::vector<std::string> texts_of(const Batch<Sample>& batch) {
  const auto column = batch.column(&Sample::text);
  return {column.begin(), column.end()};
}

std::vector<std::string> alone(const Record& record) { return {text_of(record)}; }

std::vector<std::string> rows_of_batch(const Batch<std::string>& batch) {
  return {batch.values().begin(), batch.values().end()};
}

/// Pipelines over the same records, in files of records and of lines: as rows of batches, or
/// one row an element.
class DatasetAt : public ::testing::Test {
 protected:
  static constexpr int kPipelines = 9;
  static constexpr int kFiles = 3;
  static constexpr int kRecords = 4000;  // in each file

  void SetUp() override {
    for (int file = 0; file < kFiles; ++file) {
      records_.push_back(folder_.file(fmt::format("{}.tfrecord", file)));
      lines_.push_back(folder_.file(fmt::format("{}.txt", file)));
      RecordWriter writer(records_.back());
      std::ofstream lines(lines_.back());
      for (int i = 0; i < kRecords; ++i) {
        const std::string text = text_of_record(file, i);
        writer.write(text);
        lines << text << '\n';
      }
      writer.close();
    }
  }

  static std::string text_of_record(int file, int number) {
    return fmt::format("{} of file {}{}", number, file, std::string(number % 7, '.'));
  }

  Texts pipeline(int number) const {
    const auto in_batches = map(rows_of_batch);
    switch (number) {
      case 0:
        return records(records_) | map(text_of) | batch(8) | in_batches;
      case 1:
        return lines(lines_) | map(text_of) | filter(is_long) | batch(5) | prefetch(4) | in_batches;
      case 2:
        return records(records_) | shuffle({.buffer = 300, .seed = 7}) | repeat(2) | map(text_of) |
               batch(16) | prefetch() | in_batches;
      case 3:
        return records(records_) | map(text_of, {.parallelism = 2}) | filter(is_long) |
               shuffle({.buffer = 50, .seed = 3}) | shard({.count = 2, .index = 1}) | batch(4) |
               in_batches;
      case 4:
        return lines(lines_) | shuffle({.buffer = 1000, .seed = 1}) | map(alone);
      case 5:
        return records(records_) |
               batch_into<Sample>(8,
                                  [](const Record& record, const Row<Sample>& row) {
                                    row.column(&Sample::text) = text_of(record);
                                  },
                                  {.parallelism = 2}) |
               map(texts_of);
      case 6:
        return files(lines_) |
               interleave([](const std::string& file) { return lines(file); },
                          {.cycle_length = 2, .block_length = 3}) |
               map(text_of) | filter(is_long) | batch(6) | in_batches;
      case 7:
        return files(records_) |
               interleave([](const std::string& file) { return records(file); },
                          {.cycle_length = 3}) |
               shuffle({.buffer = 1000, .seed = 9}) | map(text_of) | batch(6) | in_batches;
      default:
        return sample_from_datasets({records(records_) | map(alone), lines(lines_) | map(alone)},
                                    {.weights = {0.3, 0.7}, .seed = 5});
    }
  }

  static bool is_long(const std::string& text) { return text.size() % 3 != 0; }

  /// Returns the bytes of a record or line at a traced place.
  std::string read_at(const RecordPlace& place) const {
    std::ifstream in(place.file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(place.offset.value()));
    std::string text;
    if (place.file.ends_with(".txt")) {
      std::getline(in, text);
      return text;
    }
    std::uint64_t length = 0;
    in.read(reinterpret_cast<char*>(&length), sizeof length);
    in.ignore(4);
    text.resize(length);
    in.read(text.data(), static_cast<std::streamsize>(length));
    return text;
  }

  void check_step(int number, std::uint64_t step, const std::vector<std::string>& expected,
                  IterateOptions options) const {
    SCOPED_TRACE(fmt::format("pipeline {}, step {}", number, step));
    check_step_of(pipeline(number), step, expected, std::move(options));
  }

  void check_step_of(const Texts& dataset, std::uint64_t step,
                     const std::vector<std::string>& expected, IterateOptions options) const {
    const auto found = dataset.at(step, std::move(options));
    ASSERT_EQ(found.element, expected);
    ASSERT_EQ(found.rows.size(), expected.size());
    for (std::size_t row = 0; row < expected.size(); ++row) {
      const TracedPlace& traced = found.rows[row];
      ASSERT_TRUE(traced.place) << traced.why();
      EXPECT_EQ(traced.place->count, 1U);
      EXPECT_THAT(expected[row], StartsWith(fmt::format("{} of", traced.place->record)));
      ASSERT_TRUE(traced.place->offset);
      EXPECT_EQ(read_at(*traced.place), expected[row]);
    }
  }

  /// Checks the steps up to `end` that are no errors, from the start and behind a checkpoint. Returns
  /// how many are errors.
  int check_steps_beside_errors(const Texts& dataset, std::uint64_t begin,
                                std::uint64_t end) const {
    int errors = 0;
    std::optional<Checkpoint> before;
    auto iterator = dataset.iterate({.bookmark_every = 8});
    for (std::uint64_t step = 0; step < end; ++step) {
      SCOPED_TRACE(step);
      std::optional<std::vector<std::string>> rows;
      try {
        rows = iterator.next();
      } catch (const Error&) {
        ++errors;
      }
      if (step < begin) continue;
      if (rows) check_step_of(dataset, step, *rows, {});
      if (rows && before) check_step_of(dataset, step, *rows, {.resume = before});
      if ((step - begin) % 4 == 2) before = iterator.checkpoint();
    }
    return errors;
  }

  TemporaryFolder folder_;
  std::vector<std::string> records_;
  std::vector<std::string> lines_;
};

TEST_F(DatasetAt, GivesAnyStepOfManyPipelinesAndItsRecords) {
  SeededRandom random;
  for (int number = 0; number < kPipelines; ++number) {
    std::vector<std::vector<std::string>> run;
    std::vector<Checkpoint> checkpoints;
    auto iterator = pipeline(number).iterate();
    while (auto element = iterator.next()) {
      run.push_back(*std::move(element));
      if (run.size() % 100 == 0) checkpoints.push_back(iterator.checkpoint());
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t step = random.below(run.size() - 1);  // the last may be short
      IterateOptions options;
      const std::uint64_t before = std::min(step / 100, checkpoints.size());
      if (before > 0 && random.chance(0.7)) options.resume = checkpoints[before - 1];
      if (random.chance(0.2)) options.resume = checkpoints.back();
      check_step(number, step, run[step], std::move(options));
      if (HasFailure()) return;
    }
  }
}

std::string checked_text(const Record& record) {
  std::string text = text_of(record);
  if (text.starts_with("13 of") || text.starts_with("29 of"))
    throw Error(ErrorCode::data_loss, text + " is bad");
  return text;
}

/// Rows behind a gap had the places of the rows that would be there without it.
TEST_F(DatasetAt, RowsBehindErrorsHaveTheirOwnPlaces) {
  const auto input = records(records_);
  const auto write = [](const auto& element, const Row<Sample>& row) {
    if constexpr (std::is_same_v<std::decay_t<decltype(element)>, Record>) {
      row.column(&Sample::text) = checked_text(element);
    } else {
      row.column(&Sample::text) = element;
    }
  };
  const auto lengths = [](const Record& record) {
    return std::vector<std::int64_t>(1, std::stoi(checked_text(record)));
  };
  const auto texts_of_numbers = [](const PaddedBatch<std::vector<std::int64_t>>& batch) {
    std::vector<std::string> texts;
    for (const std::int64_t number : batch.column<0>().values())
      texts.push_back(text_of_record(0, static_cast<int>(number)));
    return texts;
  };
  std::vector<Texts> pipelines = {
      input | map(checked_text) | batch(8) | map(rows_of_batch),
      input | map(lengths) | padded_batch(8) | map(texts_of_numbers),
  };
  for (const int parallelism : {1, 2}) {
    // The error is one of the input, in front of the batch, or of a row that the batch goes without.
    pipelines.push_back(input | map(checked_text) |
                        batch_into<Sample>(8, write, {.parallelism = parallelism}) | map(texts_of));
    pipelines.push_back(input | batch_into<Sample>(8, write, {.parallelism = parallelism}) |
                        map(texts_of));
  }
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(check_steps_beside_errors(pipelines[i], 0, 9), 2);
  }
}

/// Threads read blocks of records up to the damaged one, which is pulled, and those of the next file.
TEST_F(DatasetAt, RowsBehindADamagedFileHaveTheirOwnPlaces) {
  constexpr int kDamaged = 20;
  std::size_t offset = 0;
  for (int i = 0; i < kDamaged; ++i) offset += 16 + text_of_record(1, i).size();
  std::fstream file(records_[1], std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset + 12));
  file.put('x');
  file.close();
  const auto write = [](const Record& record, const Row<Sample>& row) {
    row.column(&Sample::text) = text_of(record);
  };
  for (const int parallelism : {1, 2}) {
    SCOPED_TRACE(parallelism);
    const Texts dataset = records(records_) |
                          batch_into<Sample>(8, write, {.parallelism = parallelism}) |
                          map(texts_of);
    EXPECT_EQ(check_steps_beside_errors(dataset, kRecords / 8 + 1, kRecords / 8 + 8), 1);
  }
}

/// All rows of a batch had the place of the batch: its first row, and how many there were.
TEST_F(DatasetAt, RowsOfTextHavePlacesOfTheirOwn) {
  constexpr int kRows = 10;  // in each file
  std::vector<std::string> tables;
  std::vector<std::string> json;
  for (int file = 0; file < 2; ++file) {
    std::string table = "id,text\n";
    std::string objects;
    for (int i = 0; i < kRows; ++i) {
      table += fmt::format("{},\"line\n{}\"\n", file * kRows + i, i);
      objects += fmt::format("{{\"id\": {}}}\n\n", file * kRows + i);
    }
    tables.push_back(folder_.write(fmt::format("{}.csv", file), table));
    json.push_back(folder_.write(fmt::format("{}.jsonl", file), objects));
  }
  const ColumnSchema ids_only = ColumnSchema().column("id", DType::int64);
  const ColumnSchema with_text = ColumnSchema().column("id", DType::int64).bytes("text");
  for (const auto& [dataset, files] : {std::pair{csv(tables, with_text, 8), tables},
                                       std::pair{json_lines(json, ids_only, 8), json}}) {
    for (std::uint64_t step = 0; step < 3; ++step) {
      SCOPED_TRACE(fmt::format("{} step {}", files[0], step));
      const auto found = (dataset | prefetch()).at(step);
      const auto ids = found.element.column("id").values<std::int64_t>();
      ASSERT_EQ(ids.size(), step == 2 ? 4U : 8U);
      ASSERT_EQ(found.rows.size(), ids.size());
      for (std::size_t row = 0; row < ids.size(); ++row) {
        ASSERT_TRUE(found.rows[row].place) << found.rows[row].why();
        const RecordPlace& place = *found.rows[row].place;
        EXPECT_EQ(place.file, files[static_cast<std::size_t>(ids[row]) / kRows]);
        EXPECT_EQ(place.record, static_cast<std::uint64_t>(ids[row]) % kRows);
        EXPECT_EQ(place.count, 1U);
      }
    }
  }
}

TEST_F(DatasetAt, RowsOfTextHaveTheirBatchsPlaceWhereSomeAreLeftOut) {
  const std::string file = folder_.write("bad.csv", "id\n0\nx\n2\n3\n");
  const auto found = csv({file}, ColumnSchema().column("id", DType::int64), 4,
                         {.format = {.bad_rows = BadRows::leave_out}})
                         .at(0);
  EXPECT_EQ(found.element.rows(), 3);
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].place->record, 0U);
  EXPECT_EQ(found.rows[0].place->count, 4U);
}

/// They had the first of their records, as if they were made of it alone.
TEST_F(DatasetAt, ElementsThatAFlatMapGivesHaveAllTheirRecords) {
  const auto batches = [](const std::string& file) {
    return lines(file) | map(text_of) | batch(8);
  };
  const auto rows = [](std::string text) { return std::vector<std::string>{std::move(text)}; };
  const auto each = [&](const std::string& file) { return batches(file) | unbatch() | map(rows); };
  const Texts whole = files(lines_) | flat_map(batches) | map(rows_of_batch);
  const Texts apart = files(lines_) | flat_map(each);
  for (const auto& [dataset, step] : {std::pair{whole, 2U}, std::pair{apart, 20U}}) {
    const auto found = dataset.at(step);
    ASSERT_EQ(found.rows.size(), 1U);
    ASSERT_TRUE(found.rows[0].place) << found.rows[0].why();
    EXPECT_EQ(found.rows[0].place->file, lines_[0]);
    EXPECT_EQ(found.rows[0].place->record, 16U);
    EXPECT_EQ(found.rows[0].place->count, 8U);
  }
}

TEST_F(DatasetAt, RefusesWhatItCantFind) {
  EXPECT_THAT(error_of([] { (range(10) | batch(4)).at(3); }).message(),
              HasSubstr("at(): the dataset has no such step: it ends after 3 elements"));
  EXPECT_THAT(error_of([] { (range(10) | shuffle({.buffer = 3})).at(3); }).message(),
              HasSubstr("at(): shuffle has drawn its seed itself"));
  const auto inner = [] {
    return range(3) | flat_map([](std::int64_t) { return range(5) | shuffle({.buffer = 3}); });
  };
  EXPECT_THAT(error_of([&] { inner().at(3); }).message(),
              HasSubstr("at(): a stage in an inner dataset has drawn"));
  auto run = inner().iterate();
  const Stream all = take_stream(run, 7);
  EXPECT_EQ(show(inner().at(6, {.resume = run.checkpoint()}).element), all[6]);
}

TEST_F(DatasetAt, ThrowsTheErrorOfAStep) {
  const auto dataset = range(100) | map([](std::int64_t x) {
                         if (x == 41) throw Error(ErrorCode::data_loss, "41 is broken");
                         return x;
                       }) |
                       batch(10);
  // Batch 4 is begun when 41 fails, and the error comes before it.
  EXPECT_EQ(error_of([&] { dataset.at(4); }).message(), "41 is broken");
  EXPECT_EQ(dataset.at(5).element[1], 42);
  EXPECT_EQ(dataset.at(6).element[0], 51);
}

TEST_F(DatasetAt, SaysWhyARowCantBeTracedWhenTheIteratorIsGone) {
  const auto found = (range(10) | batch(4)).at(1);
  ASSERT_EQ(found.rows.size(), 4U);
  for (const TracedPlace& row : found.rows) {
    EXPECT_FALSE(row.place);
    EXPECT_EQ(row.stage, nullptr) << "the label belongs to the iterator";
    EXPECT_EQ(row.why(), "range makes its elements itself");
  }
}

TEST_F(DatasetAt, RowsOfAnIterationNeedItsOption) {
  auto iterator = (range(10) | batch(4)).iterate({.trace = true});
  iterator.next();
  EXPECT_EQ(rows_of(iterator, 0).size(), 4U);
  auto untraced = (range(10) | batch(4)).iterate();
  EXPECT_THAT(error_of([&] { rows_of(untraced, 0); }).message(),
              HasSubstr("set IterateOptions::trace"));
}

}  // namespace
}  // namespace infeed::test
