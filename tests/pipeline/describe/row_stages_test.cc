#include <array>

#include "pipeline/describe/data_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// The stages of the table that work on single rows of columns.
class RowStages : public ::testing::Test {
 protected:
  std::vector<ColumnBatch> batches(const std::string& stages) const {
    return described(files_.with_folder(stages)).elements().batches("test").collect();
  }
  template <class T>
  std::vector<T> elements(const std::string& stages) const {
    return std::get<Dataset<T>>(described(files_.with_folder(stages)).elements().dataset).collect();
  }
  /// Returns a column of each batch.
  template <class T>
  std::vector<std::vector<T>> values(const std::string& stages, const char* column) const {
    std::vector<std::vector<T>> all;
    for (const ColumnBatch& batch : batches(stages)) {
      const auto of = batch.column(column).values<T>();
      all.emplace_back(of.begin(), of.end());
    }
    return all;
  }

  const DataFiles files_;
  const std::string records_ =
      R"({"stage": "records", "files": "@/*.tfrecord"}, )" + std::string(kParse);
  const std::string rows_ = R"({"stage": "json_lines", "files": ["@/rows.jsonl"], "columns": [
      {"name": "id", "dtype": "int64"}, {"name": "tokens", "kind": "ragged", "dtype": "int32"}]})";
};

TEST_F(RowStages, WindowsOverlapAndGetShorter) {
  using Values = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(
      values<std::int64_t>(
          R"({"stage": "range", "stop": 7}, {"stage": "window", "size": 3, "shift": 2})", "value"),
      (Values{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}, {6}}));
  EXPECT_EQ(values<std::int64_t>(records_ + R"(, {"stage": "window", "size": 2, "shift": 20,
                                                  "stride": 3, "drop_remainder": true})",
                                 "id"),
            (Values{{0, 3}, {20, 23}}));
}

TEST_F(RowStages, EnumerateNumbersRowsOrBatches) {
  using Values = std::vector<std::vector<std::int64_t>>;
  const std::string enumerate = R"(, {"stage": "enumerate", "start": 5})";
  const std::string batch = R"(, {"stage": "batch", "size": 2})";
  EXPECT_EQ(values<std::int64_t>(rows_ + enumerate + batch, "index"), (Values{{5, 6}, {7}}));
  EXPECT_EQ(values<std::int64_t>(rows_ + batch + enumerate, "index"), (Values{{5, 5}, {6}}));
  EXPECT_THAT(
      error_of([&] { batches(rows_ + R"(, {"stage": "enumerate", "column": "id"})"); }).message(),
      HasSubstr("[1]: column 'id' is given twice, as columns 0 and 2 "));
}

/// The number of a row is that of its record, and a window never joins rows beside one that is lost.
TEST_F(RowStages, ABadRecordKeepsItsPlaceAmongTheRows) {
  const auto firsts = [this](const std::string& stages, const char* column) {
    const auto all = described(files_.with_folder(stages)).elements().batches("test");
    std::vector<std::int64_t> numbers;
    for (auto iterator = all.iterate(); numbers.size() < 12;) {
      try {
        const auto batch = iterator.next();
        if (!batch) break;
        numbers.push_back(batch->column(column).values<std::int64_t>().front());
      } catch (const Error&) {
        numbers.push_back(-1);
      }
    }
    return numbers;
  };
  // Only every fourth record has one token.
  const std::string bad = R"({"stage": "records", "files": "@/*.tfrecord"}, {"stage": "parse",
      "columns": [{"name": "tokens", "dtype": "int64", "shape": [1]}]}, )";
  EXPECT_THAT(firsts(bad + R"({"stage": "enumerate"})", "index"),
              ElementsAre(-1, 1, -1, -1, -1, 5, -1, -1, -1, 9, -1, -1));
  EXPECT_THAT(firsts(bad + R"({"stage": "window", "size": 1})", "tokens"),
              ElementsAre(-1, 1, -1, -1, -1, 5, -1, -1, -1, 9, -1, -1));
  const std::string with_text = R"({"stage": "records", "files": "@/*.tfrecord"}, {"stage": "parse",
      "columns": [{"name": "tokens", "dtype": "int64", "shape": [1]}, {"name": "text", "kind": "bytes"}]})";
  EXPECT_THAT(firsts(with_text + R"(, {"stage": "bucket_by_sequence_length", "column": "text",
                                       "boundaries": [6], "batch_sizes": [1, 1]})",
                     "tokens"),
              ElementsAre(-1, 1, -1, -1, -1, 5, -1, -1, -1, 9, -1, -1));
  EXPECT_THAT(firsts(R"({"stage": "sample_from_datasets", "weigh_by": "rows", "inputs": [[)" +
                         with_text + "]]}",
                     "tokens"),
              ElementsAre(-1, 1, -1, -1, -1, 5, -1, -1, -1, 9, -1, -1));
  const std::string chosen = R"({"stage": "choose_from_datasets", "inputs": [
      [{"stage": "range", "stop": 5}], [{"stage": "range", "stop": 2}, {"stage": "repeat"}]]}, )";
  EXPECT_THAT(firsts(chosen + R"({"stage": "window", "size": 2, "shift": 1})", "value"),
              ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
}

/// Directly behind the source columns are chosen batch by batch, with the same rows.
TEST_F(RowStages, ColumnsAreChosenBeforeBatchesAreCutIntoRows) {
  using Values = std::vector<std::vector<std::int64_t>>;
  const std::string chosen = rows_ + R"(, {"stage": "select", "columns": ["id"]},
      {"stage": "rename", "from_name": "id", "to_name": "number"})";
  const std::string batch = R"(, {"stage": "batch", "size": 2})";
  const auto whole = described(files_.with_folder(chosen + batch)).elements();
  EXPECT_EQ(whole.node()->name(), "map") << "of batches that the source made";
  EXPECT_THAT(whole.columns.value().columns().front().name, "number");
  EXPECT_EQ(values<std::int64_t>(chosen + batch, "number"),
            values<std::int64_t>(rows_ + batch, "id"));
  EXPECT_EQ(described(files_.with_folder(chosen)).elements().kind(), describe::ElementKind::row);
  const Values ids = values<std::int64_t>(rows_, "id");
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(values<std::int64_t>(chosen, "number"), ids);
  EXPECT_EQ(values<std::int64_t>(chosen + R"(, {"stage": "shuffle", "buffer": 1})", "number"), ids);
}

TEST_F(RowStages, UniqueComparesContent) {
  EXPECT_THAT(elements<std::int64_t>(R"({"stage": "range", "stop": 3}, {"stage": "repeat",
                                         "count": 2}, {"stage": "unique"})"),
              ElementsAre(0, 1, 2));
  const std::vector<Record> lines = elements<Record>(
      R"({"stage": "lines", "files": ["@/lines.txt", "@/lines.txt"]}, {"stage": "unique"})");
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[4].bytes(), "five");
  EXPECT_EQ(batches(rows_ + R"(, {"stage": "repeat", "count": 3}, {"stage": "unique"})").size(),
            3u);
  EXPECT_THAT(error_of([&] {
                described(files_.with_folder(
                    R"({"stage": "folder", "folder": "@/classes"}, {"stage": "unique"})"));
              }).message(),
              HasSubstr("aren't compared"));
}

/// Rows of a batch are remembered as copies, which take many times as much.
TEST_F(RowStages, UniqueRemembersNoMoreRowsThanTheLimitAllows) {
  std::string stages = R"({"stage": "range", "stop": 400}, {"stage": "batch", "size": 100})";
  for (int i = 0; i < 20; ++i) {
    stages += R"(, {"stage": "enumerate", "column": "number)" + std::to_string(i) + R"("})";
  }
  stages += R"(, {"stage": "unbatch"}, {"stage": "unique"})";
  const auto rows = std::get<Dataset<ColumnBatch>>(described(stages).elements().dataset);
  // Where too much was taken, it was for a part of a chunk.
  for (std::uint64_t limit_bytes = 400'000; limit_bytes < 520'000; limit_bytes += 10'000) {
    auto iterator = rows.iterate({.memory_bytes_max = limit_bytes});
    std::uint64_t remembered_bytes = 0;
    const Error error = error_of([&] {
      while (const auto row = iterator.next()) {
        remembered_bytes += join_rows(std::array{*row, row->slice(0, 0)}).held_bytes();
      }
    });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_GT(remembered_bytes, 0U);
    EXPECT_LE(remembered_bytes, limit_bytes);
  }
}

TEST_F(RowStages, BucketsHoldRowsOfLikeLength) {
  // Record i has i % 4 tokens.
  const std::string bucket = R"(, {"stage": "bucket_by_sequence_length", "column": "tokens",
                                   "boundaries": [1, 3], "batch_sizes": [2, 4, 3])";
  std::size_t rows = 0;
  for (const ColumnBatch& batch : batches(records_ + bucket + R"(, "padding": -1})")) {
    const Column& tokens = batch.column("tokens");
    const Column& ids = batch.column("id");
    ASSERT_EQ(tokens.kind(), Column::Kind::padded);
    rows += static_cast<std::size_t>(batch.rows());
    std::int64_t longest = 0;
    const auto bucket_of = [](std::int64_t length) { return length < 1 ? 0 : length < 3 ? 1 : 2; };
    for (std::size_t i = 0; i < tokens.lengths().size(); ++i) {
      const std::int64_t id = ids.values<std::int64_t>()[i];
      ASSERT_EQ(tokens.lengths()[i], id % 4);
      ASSERT_EQ(bucket_of(id % 4), bucket_of(tokens.lengths()[0])) << "rows of another length";
      longest = std::max(longest, id % 4);
      for (std::int64_t at = 0; at < tokens.width(); ++at) {
        EXPECT_EQ(tokens.values<std::int32_t>()[i * tokens.width() + at], at < id % 4 ? id : -1);
      }
    }
    EXPECT_EQ(tokens.width(), longest);
  }
  EXPECT_EQ(rows, 33u);
  const auto ragged = batches(records_ + bucket + R"(, "padded": false, "drop_remainder": true})");
  for (const ColumnBatch& batch : ragged) {
    EXPECT_EQ(batch.column("tokens").kind(), Column::Kind::ragged);
    EXPECT_TRUE(batch.rows() == 2 || batch.rows() == 4 || batch.rows() == 3);
  }
}

TEST_F(RowStages, BucketsPadToTheirBoundary) {
  const std::string bucket = R"(, {"stage": "bucket_by_sequence_length", "column": "tokens",
                                   "boundaries": [2, 6], "batch_sizes": [1, 1, 1],
                                   "pad_to_boundary": true})";
  const auto all = batches(rows_ + bucket);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].column("tokens").width(), 1);
  EXPECT_EQ(all[2].column("tokens").width(), 5);
  EXPECT_EQ(all[2].column("tokens").lengths()[0], 3);
  EXPECT_THAT(error_of([&] {
                batches(rows_ + R"(, {"stage": "bucket_by_sequence_length", "column": "id",
                                      "boundaries": [2], "batch_sizes": [1, 1]})");
              }).message(),
              HasSubstr("the column 'id' is dense; its rows must be sequences or texts"));
  EXPECT_THAT(error_of([&] {
                batches(rows_ + R"(, {"stage": "bucket_by_sequence_length", "column": "tokens",
                                      "boundaries": [2], "batch_sizes": [1, 1], "padding": 0.5})");
              }).message(),
              HasSubstr("0.5"));
}

TEST_F(RowStages, RecordsAreLeftOutInTheirPlace) {
  const std::string out = R"({"stage": "records", "files": "@/*.tfrecord"},
      {"stage": "leave_out", "rows": [["@/b.tfrecord", 1], {"file": "@/a.tfrecord", "record": 2}],
       "instead": {"id": -1, "tokens": []}}, )";
  const auto ids =
      values<std::int64_t>(out + std::string(kParse) + R"(, {"stage": "batch", "size": 33})", "id");
  ASSERT_EQ(ids.size(), 1u);
  for (std::int64_t i = 0; i < 33; ++i) {
    EXPECT_EQ(ids[0][static_cast<std::size_t>(i)], i == 2 || i == 21 ? -1 : i);
  }
  const std::vector<Record> lines = elements<Record>(
      R"({"stage": "lines", "files": "@/lines.txt"},
         {"stage": "leave_out", "rows": [["@/lines.txt", 0]], "instead": "gone"})");
  EXPECT_EQ(lines[0].bytes(), "gone");
  EXPECT_EQ(lines[1].bytes(), "two");
}

TEST_F(RowStages, ChoicesAndSizesMixPipelines) {
  EXPECT_THAT(elements<std::int64_t>(
                  R"({"stage": "choose_from_datasets", "inputs": [
                      [{"stage": "range", "start": 0, "stop": 9}],
                      [{"stage": "range", "start": 10, "stop": 19}],
                      [{"stage": "range", "start": 1, "stop": -1, "step": -1}, {"stage": "repeat",
                        "count": 2}]]})"),
              ElementsAre(10, 0, 11, 1));
  // Documents of one token beside documents of nine: equal shares of tokens are 9 to 1 of rows.
  const std::string mix = R"({"stage": "sample_from_datasets", "seed": 1, "weigh_by": "items",
      "column": "tokens", "stop_on_empty_dataset": true, "inputs": [
      [{"stage": "json_lines", "files": "@/short.jsonl", "columns": [
         {"name": "tokens", "kind": "ragged", "dtype": "int32"}]}, {"stage": "repeat"}],
      [{"stage": "json_lines", "files": "@/long.jsonl", "columns": [
         {"name": "tokens", "kind": "ragged", "dtype": "int32"}]}, {"stage": "repeat"}]]},
      {"stage": "take", "count": 1000})";
  std::size_t long_rows = 0;
  for (const ColumnBatch& row : batches(mix)) long_rows += row.column("tokens").row_splits()[1] > 1;
  EXPECT_NEAR(static_cast<double>(long_rows), 100, 2);
}

TEST_F(RowStages, SnapshotsKnowTheirType) {
  EXPECT_THAT(elements<std::int64_t>(R"({"stage": "read_snapshot", "path": "@/written"})"),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  const std::string rows = records_ + R"(, {"stage": "batch", "size": 20})";
  const auto written = batches(rows + R"(, {"stage": "snapshot", "path": "@/of_batches"})");
  EXPECT_EQ(batches(R"({"stage": "read_snapshot", "path": "@/of_batches"})"), written);
}

/// A cache gave the old padding, or columns that nobody asked for any more.
TEST_F(RowStages, ACacheOfAnotherSchemaIsRefused) {
  const auto code = [&](const std::string& stages) {
    return error_of([&] { batches(stages); }).code();
  };
  const std::string kept = R"(, {"stage": "cache", "path": "@/kept"})";
  const auto padded = [&](const std::string& padding) {
    return records_ + R"(, {"stage": "padded_batch", "size": 3, "padding": )" + padding + "}";
  };
  const auto first = batches(padded("0") + kept);
  EXPECT_EQ(batches(padded("0") + kept), first);
  EXPECT_EQ(code(padded("-1") + kept), ErrorCode::failed_precondition);
  EXPECT_EQ(code(records_ + R"(, {"stage": "batch", "size": 3})" + kept),
            ErrorCode::failed_precondition);

  const std::string of_samples = R"(, {"stage": "cache", "path": "@/samples"})";
  const auto fields = [&](const std::string& names) {
    return R"({"stage": "tar", "files": "@/samples.tar"}, {"stage": "batch", "size": 1, "fields": )" +
           names + "}" + of_samples;
  };
  batches(fields(R"(["txt"])"));
  EXPECT_EQ(code(fields(R"(["txt", "cls"])")), ErrorCode::failed_precondition);
}

/// Each says what to put where.
TEST_F(RowStages, RefusalsNameTheWayOut) {
  const auto message = [this](const std::string& stages) {
    return error_of([&] { batches(stages); }).message();
  };
  const std::string range = R"({"stage": "range", "stop": 9})";
  const std::string batch = R"(, {"stage": "batch", "size": 2})";
  const std::string padded = R"(, {"stage": "padded_batch", "size": 2})";
  const std::string tar =
      R"({"stage": "tar", "files": "@/samples.tar"}, {"stage": "batch", "size": 1)";
  const auto packed = [&](const std::string& column) {
    return message(records_ + batch + R"(, {"stage": "select", "columns": ["tokens"]},
        {"stage": "pack", "rows": 2, "length": 8, "columns": [)" +
                   column + "]}");
  };
  EXPECT_THAT(packed(R"({"length": 3})"), HasSubstr("a column's name, or"));
  EXPECT_THAT(packed(R"({"name": "tokens", "size": 3})"),
              HasSubstr("a column has name, length and padding"));
  EXPECT_THAT(message(R"({"stage": "lines", "files": "@/lines.txt"}, {"stage": "parse"})" + batch),
              HasSubstr("columns can't be inferred: give them"));
  EXPECT_THAT(message(range + R"(, {"stage": "parse"})" + batch),
              HasSubstr("it takes records of the type tf.train.Example"));
  EXPECT_THAT(message(tar + "}"), HasSubstr("say which ones become columns"));
  EXPECT_THAT(message(tar + R"(, "fields": ["jpg"]})"),
              HasSubstr("the sample '1' has no field 'jpg'"));
  EXPECT_THAT(message(range + padded), HasSubstr("put parse before it"));
  EXPECT_THAT(message(records_ + batch + padded), HasSubstr("gives batches already"));
}

/// Each batch that a source reads is as wide as its own longest row, so rows of two didn't join: most of
/// them were lost behind skip_errors.
TEST_F(RowStages, SequencesArePaddedBehindAStageOfRows) {
  const std::string shuffle = R"(, {"stage": "shuffle", "buffer": 1000})";
  const auto rows_of = [&](const std::string& pads) {
    std::int64_t rows = 0;
    for (const ColumnBatch& batch : batches(records_ + shuffle + pads)) {
      const Column& tokens = batch.column("tokens");
      EXPECT_EQ(tokens.kind(), Column::Kind::padded);
      for (std::size_t i = 0; i < tokens.lengths().size(); ++i) {
        const std::int64_t id = batch.column("id").values<std::int64_t>()[i];
        EXPECT_EQ(tokens.lengths()[i], id % 4);
        for (std::int64_t at = 0; at < tokens.width(); ++at) {
          EXPECT_EQ(tokens.values<std::int32_t>()[i * tokens.width() + at], at < id % 4 ? id : -1);
        }
      }
      rows += batch.rows();
    }
    return rows;
  };
  EXPECT_EQ(rows_of(R"(, {"stage": "enumerate"}, {"stage": "padded_batch", "size": 5,
                          "padding": -1})"),
            33);
  EXPECT_EQ(rows_of(R"(, {"stage": "enumerate"}, {"stage": "padded_batch", "size": 5, "width": 2,
                          "padding": -1}, {"stage": "skip_errors"})"),
            25)
      << "a row that is too long is lost alone";

  const std::string source =
      R"({"stage": "json_lines", "files": ["@/short.jsonl", "@/long.jsonl"],
          "columns": [{"name": "tokens", "kind": "padded", "dtype": "int32")";
  const std::string batch = R"(, {"stage": "batch", "size": 2})";
  EXPECT_THAT(error_of([&] { batches(source + "}]}" + shuffle + batch); }).message(),
              HasSubstr("batch: the column 'tokens' is padded, but to no fixed width"));
  EXPECT_EQ(batches(source + R"(, "width": 9}]})" + shuffle + batch).size(), 1U);
  EXPECT_EQ(batches(source + "}]}" + batch).size(), 1U) << "it is the source that pads";
}

}  // namespace
}  // namespace infeed::test
