#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <infeed/infeed.h>

#include "matchers.h"
#include "profile/described_pipeline.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// infeed batch: the real program, for steps of runs that have been.
namespace infeed::test {
namespace {

using Json = nlohmann::json;

class BatchCommand : public ::testing::Test {
 protected:
  static constexpr int kFiles = 2;
  static constexpr int kRecords = 100;  // in each file

  void SetUp() override {
    for (int file = 0; file < kFiles; ++file) {
      RecordWriter writer(folder_.file(fmt::format("train-{}.tfrecord", file)));
      for (int i = 0; i < kRecords; ++i) writer.write(example(file, i));
      writer.close();
    }
  }

  static std::string example(int file, int record) {
    ExampleBuilder example;
    example.integers("id", file * kRecords + record);
    example.bytes("text", fmt::format("record {} of {}", record, file));
    example.floats("x", std::vector<float>{static_cast<float>(record), 0.5F});
    example.integers("tags", std::vector<std::int64_t>(static_cast<std::size_t>(record % 3), 7));
    return example.encode();
  }

  /// `shuffle` holds the options of shuffle but its buffer.
  std::string pipeline(const std::string& shuffle = R"(, "seed": 3)") const {
    return folder_.write("pipeline.json", fmt::format(R"({{"step_us": 100, "stages": [
        {{"stage": "records", "files": "{}"}},
        {{"stage": "shuffle", "buffer": 50{}}},
        {{"stage": "repeat", "count": 3}},
        {{"stage": "parse", "columns": [{{"name": "id", "dtype": "int64"}},
          {{"name": "text", "kind": "bytes"}},
          {{"name": "x", "dtype": "float32", "shape": [2]}},
          {{"name": "tags", "dtype": "int64", "kind": "ragged"}}]}},
        {{"stage": "batch", "size": 8}},
        {{"stage": "prefetch"}}]}})",
                                                      folder_.file("train-*.tfrecord"), shuffle));
  }
  static Dataset<ColumnBatch> dataset(const std::string& file) {
    return tools::DescribedPipeline::parse(read_whole(file), file).dataset();
  }

  ProgramResult batch(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "batch");
    arguments.emplace_back("--no-color");
    return run_infeed(arguments);
  }
  Json json(std::vector<std::string> arguments) const {
    const std::string file = folder_.file("batch.json");
    arguments.insert(arguments.end(), {"--json", file});
    const ProgramResult ended = batch(std::move(arguments));
    EXPECT_EQ(ended.status, 0) << ended.err;
    return Json::parse(read_whole(file), nullptr, false);
  }

  /// Compares a step in JSON with the batch that a run had, and its places with their records.
  static void expect_step(const Json& step, const ColumnBatch& run) {
    ASSERT_EQ(step.at("rows").size(), static_cast<std::size_t>(run.rows()));
    for (std::int64_t row = 0; row < run.rows(); ++row) {
      const auto at = static_cast<std::size_t>(row);
      const Json& values = step.at("rows").at(at).at("values");
      const std::int64_t id = run.column("id").values<std::int64_t>()[at];
      EXPECT_EQ(values.at("id").at("values"), Json::array({id}));
      EXPECT_EQ(values.at("text").at("values"), Json::array({run.column("text").bytes(row)}));
      EXPECT_EQ(values.at("x").at("values"), Json::array({id % kRecords, 0.5}));
      EXPECT_EQ(values.at("tags").at("count"), id % kRecords % 3);
      const Json& from = step.at("rows").at(at).at("from");
      EXPECT_THAT(from.at("file"), HasSubstr(fmt::format("train-{}.", id / kRecords)));
      EXPECT_EQ(from.at("record"), id % kRecords);
      std::ifstream in(from.at("file").get<std::string>(), std::ios::binary);
      in.seekg(from.at("offset").get<std::int64_t>() + 12);
      const std::string expected =
          example(static_cast<int>(id / kRecords), static_cast<int>(id % kRecords));
      std::string bytes(expected.size(), '\0');
      in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      EXPECT_EQ(bytes, expected);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(BatchCommand, ShowsTheBatchOfAnyStepAndItsRecords) {
  const std::string file = pipeline();
  std::vector<ColumnBatch> run = dataset(file).collect();
  ASSERT_EQ(run.size(), 75U);
  for (const std::size_t step : {0U, 1U, 23U, 24U, 25U, 60U, 74U}) {
    SCOPED_TRACE(step);
    const Json found = json({"--pipeline", file, "--step", std::to_string(step), "--trace"});
    EXPECT_EQ(found.at("schema"), "infeed.batch");
    EXPECT_EQ(found.at("steps").at(0).at("step"), step);
    expect_step(found.at("steps").at(0), run[step]);
  }
  const Json three = json({"--pipeline", file, "--step", "30", "--count", "3"});
  ASSERT_EQ(three.at("steps").size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) expect_step(three.at("steps").at(i), run[30 + i]);
}

TEST_F(BatchCommand, PrintsATable) {
  const std::string file = pipeline();
  const auto found = dataset(file).at(2);
  const ProgramResult ended = batch({"--pipeline", file, "--step", "2", "--rows", "3", "--trace"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("Step 2: 8 rows, 4 columns\n"), HasSubstr("dense float32 [2]\n"),
                    HasSubstr("ragged int64\n"), HasSubstr("... 5 rows more\n")));
  const std::int64_t id = found.element.column("id").values<std::int64_t>()[1];
  const RecordPlace& place = *found.rows[1].place;
  EXPECT_THAT(ended.out, HasSubstr(fmt::format("  1     {}", id)));
  EXPECT_THAT(ended.out, HasSubstr(fmt::format("{} record {} at byte {}\n", place.file,
                                               place.record, *place.offset)));
  EXPECT_THAT(batch({"--pipeline", file, "--step", "2"}).out, Not(HasSubstr(" at byte ")));
}

TEST_F(BatchCommand, NamesEachRowOfATable) {
  std::string table = "id\n";
  for (int i = 0; i < 20; ++i) table += fmt::format("{}\n", i);
  const std::string csv = folder_.write("table.csv", table);
  const std::string file =
      folder_.write("table.json", fmt::format(R"({{"stages": [{{"stage": "csv", "files": ["{}"]}},
                                                        {{"stage": "batch", "size": 8}}]}})",
                                              csv));
  const ProgramResult ended = batch({"--pipeline", file, "--step", "1", "--trace"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(csv + " record 8 at byte 19\n"));
  for (int row = 9; row < 16; ++row) {
    EXPECT_THAT(ended.out, HasSubstr(fmt::format("{} record {}\n", csv, row)));
  }
}

/// A shard that couldn't be read was passed over without a word, and another batch shown.
TEST_F(BatchCommand, SaysThatElementsBeforeItHaveFailed) {
  const std::string file = pipeline();
  EXPECT_EQ(json({"--pipeline", file, "--step", "5"}).at("errors"), 0);
  const std::string shard = folder_.file("train-0.tfrecord");
  std::string bytes = read_whole(shard);
  bytes[20] ^= 1;
  write_whole(shard, bytes);
  const ProgramResult ended = batch({"--pipeline", file, "--step", "15"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("1 element failed and was passed over"));
  EXPECT_EQ(json({"--pipeline", file, "--step", "15"}).at("errors"), 1);
}

TEST_F(BatchCommand, TakesSeedsFromACheckpoint) {
  const std::string file = pipeline("");
  auto iterator = dataset(file).iterate({.epoch = 2});
  std::vector<ColumnBatch> run;
  std::string saved;
  while (auto next = iterator.next()) {
    run.push_back(*std::move(next));
    if (run.size() == 40) saved = iterator.checkpoint().to_text();
  }
  const std::string checkpoint = folder_.write("saved.checkpoint", saved);
  for (const std::size_t step : {7U, 40U, 70U}) {
    SCOPED_TRACE(step);
    const Json found =
        json({"--pipeline", file, "--step", std::to_string(step), "--resume", checkpoint});
    expect_step(found.at("steps").at(0), run[step]);
  }
  const ProgramResult seedless = batch({"--pipeline", file, "--step", "7"});
  EXPECT_EQ(seedless.status, 1);
  EXPECT_THAT(seedless.err, HasSubstr("shuffle has drawn its seed itself"));
  EXPECT_THAT(seedless.err, HasSubstr("give a checkpoint of the run as `resume`, or a seed"));
}

TEST_F(BatchCommand, EpochsHaveOrdersOfTheirOwn) {
  const std::string file = pipeline();
  const auto of_second = dataset(file).at(5, {.epoch = 1});
  const Json found = json({"--pipeline", file, "--step", "5", "--epoch", "1"});
  expect_step(found.at("steps").at(0), of_second.element);
  EXPECT_NE(found.at("steps"), json({"--pipeline", file, "--step", "5"}).at("steps"));
}

/// The first Ctrl-C did nothing while a pipe was waited for.
TEST_F(BatchCommand, CtrlCEndsWaitingForAPipe) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string lines = folder_.write("lines.json", fmt::format(R"({{"stages": [
      {{"stage": "json_lines", "files": ["{}"], "columns": [{{"name": "id", "dtype": "int64"}}]}},
      {{"stage": "batch", "size": 4}}]}})",
                                                                    pipe));
  const std::string recording = folder_.file("run.profile");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"batch", "--pipeline", pipe, "--step", "0"},
        std::vector<std::string>{"batch", "--pipeline", lines, "--step", "0"},
        std::vector<std::string>{"profile", recording, "--pipeline", pipe},
        std::vector<std::string>{"profile", recording, "--pipeline", lines}}) {
    SCOPED_TRACE(arguments[0] + " " + arguments.back());
    int writer = -1;
    const auto is_waiting = [&] {
      writer = writer < 0 ? ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK) : writer;
      return writer >= 0;
    };
    const ProgramResult ended =
        run_infeed(arguments, {.send_signal_when = is_waiting, .signal = SIGINT});
    ::close(writer);
    EXPECT_EQ(ended.status, 130) << ended.err;
    EXPECT_LT(ended.seconds_after_signal, kSoonSeconds);
  }
}

TEST_F(BatchCommand, SaysWhatIsWrong) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const ProgramResult ended = batch(arguments);
    EXPECT_NE(ended.status, 0);
    EXPECT_THAT(ended.err, HasSubstr(why));
  };
  const std::string file = pipeline();
  refused({"--pipeline", file, "--step", "75"},
          "there is no step 75: the pipeline ends after 75 steps, which are numbered from 0");
  refused({"--pipeline", file, "--step", "74", "--count", "2"}, "there is no step 75");
  refused({"--pipeline", file, "--step", "-1"}, "--step");
  refused({"--pipeline", file}, "--step is required");
  refused({"--step", "1"}, "--pipeline is required");
  refused({"--pipeline", folder_.file("none.json"), "--step", "1"}, "no such file");
  refused({"--pipeline", file, "--step", "1", "--json", "/none/x.json"}, "/none");
  refused({"--pipeline", file, "--step", "1", "--resume", file}, "pipeline.json");
  const std::string records = folder_.write(
      "records.json", fmt::format(R"({{"stages": [{{"stage": "records", "files": "{}"}}]}})",
                                  folder_.file("train-0.tfrecord")));
  refused({"--pipeline", records, "--step", "1"}, "batches");
  const std::string numbers = folder_.write(
      "numbers.json",
      R"({"stages": [{"stage": "range", "stop": 10}, {"stage": "batch", "size": 4}]})");
  EXPECT_EQ(batch({"--pipeline", numbers, "--step", "1"}).status, 0);
  refused({"--pipeline", numbers, "--step", "1", "--trace"},
          "the rows can't be traced to records: range makes its elements itself");
}

}  // namespace
}  // namespace infeed::test
