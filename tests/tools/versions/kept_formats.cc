#include "tools/versions/kept_formats.h"

#include <filesystem>
#include <fmt/format.h>
#include <regex>

#include <infeed/describe/description.h>
#include <infeed/infeed.h>
#include <infeed/pipeline/tuning_policy.h>
#include <infeed/records/column_schema.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/training_checkpoint.h>

#include "convert/manifest.h"
#include "convert/part_journals.h"
#include "matchers.h"
#include "pipeline/tune/simulated_run.h"
#include "profile/recorded_run.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

constexpr int kRecords = 40;

std::string record(int i) {
  return fmt::format("record {} {}", i, std::string(std::size_t(i), 'x'));
}

struct Wrapping {
  const char* file;
  RecordWriterOptions options;
};

const std::vector<Wrapping>& wrappings() {
  static const std::vector<Wrapping> all = {
      {"plain.tfrecord", {.index = true}},
      {"gzip.tfrecord.gz", {.compression = Compression::gzip, .flush_point_bytes = 500}},
      {"zlib.tfrecord.zlib", {.compression = Compression::zlib}},
      {"lz4.tfrecord.lz4", {.compression = Compression::lz4}}};
  return all;
}

void keep_records(const std::string& folder) {
  for (const Wrapping& wrapping : wrappings()) {
    const std::string file = folder + "/" + wrapping.file;
    RecordWriter writer(file, wrapping.options);
    for (int i = 0; i < kRecords; ++i) writer.write(record(i));
    writer.close();
    if (!wrapping.options.index) continue;
    write_index(writer.index(), file + ".index");
    write_dali_index(writer.index(), folder + "/plain.idx");
  }
}

void expect_records(const std::string& folder) {
  for (const Wrapping& wrapping : wrappings()) {
    SCOPED_TRACE(wrapping.file);
    ParallelRecordReader reader(folder + "/" + wrapping.file, {.threads = 2, .segment_bytes = 512});
    Record read;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(reader.next(read)) << i;
      EXPECT_EQ(read.bytes(), record(i));
    }
    EXPECT_FALSE(reader.next(read));
    if (wrapping.options.flush_point_bytes != 0) {
      EXPECT_EQ(reader.how(), "split at its flush points");
    }
    if (wrapping.options.compression == Compression::lz4) {
      EXPECT_EQ(reader.how(), "split by the index of its blocks");
    }
  }
  const std::string file = folder + "/plain.tfrecord";
  const RecordIndex index = read_index(file + ".index");
  require_index_of(index, file);
  EXPECT_EQ(IndexedRecords(file, index).read(17).bytes(), record(17));
  EXPECT_EQ(read_index(folder + "/plain.idx").offsets, index.offsets);
}

std::string write_table(const std::string& folder) {
  const std::string file = folder + "/people.csv";
  write_whole(file, "name,age,price\nann,31,1.5\nbob,42,2.5\ncid,53,3.5\ndot,64,4.5\n");
  return file;
}

void keep_dataset(const std::string& folder) {
  const ProgramResult made =
      run_infeed({"convert", write_table(folder), "-o", folder, "--shards", "2"});
  ASSERT_EQ(made.status, 0) << made.err;
}

void expect_dataset(const std::string& folder) {
  const tools::Manifest manifest = tools::read_manifest(folder + "/data.manifest.json");
  EXPECT_EQ(manifest.examples(), 4u);
  EXPECT_EQ(manifest.shards.size(), 2u);
  const ProgramResult verified = run_infeed({"verify", folder});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("good: 2 files, 4 records"));
}

void keep_unfinished(const std::string& folder) {
  const ProgramResult made =
      run_infeed({"convert", write_table(folder), "-o", folder, "--shards", "4", "--shard", "0/2"});
  ASSERT_EQ(made.status, 0) << made.err;
}

/// Checks plan and journal. Only the version that began a conversion finishes it.
void expect_unfinished(const std::string& folder) {
  EXPECT_EQ(tools::shards_of_plan(read_whole(folder + "/.data.plan.json")), 4u);
  const auto lines = tools::read_journal(folder + "/.data.share-00000-of-00002.journal");
  EXPECT_EQ(tools::plan_of_part(lines), read_whole(folder + "/.data.plan.json"));
  std::uint64_t examples = 0;
  for (const auto& [shard, entry] : tools::committed_shards(lines)) {
    EXPECT_EQ(shard % 2, 0u);
    EXPECT_EQ(fs::file_size(folder + "/" + entry.file), entry.sum.bytes);
    examples += entry.examples;
  }
  EXPECT_EQ(examples, 2u);
}

/// Returns a pipeline over records of the folder.
Dataset<std::int64_t> numbers(const std::string& folder) {
  return records(folder + "/numbers.tfrecord") | map([](const Record& read) {
           return std::int64_t{std::stoll(std::string(read.bytes()))};
         }) |
         filter([](std::int64_t x) { return x % 3 != 0; });
}

void write_numbers(const std::string& folder) {
  RecordWriter writer(folder + "/numbers.tfrecord");
  for (int i = 0; i < 200; ++i) writer.write(std::to_string(i * i));
  writer.close();
}

std::string text_of(const std::vector<std::int64_t>& values) {
  return fmt::format("{}\n", fmt::join(values, "\n"));
}

auto drawn(const std::string& folder) {
  return numbers(folder) | shuffle({.buffer = 20, .seed = 42}) | repeat(3);
}

/// Numbers that need a bookmark far from their begin.
auto filtered() {
  return range(10'000) | filter([](std::int64_t x) { return x % 3 != 0; });
}

void keep_checkpoint(const std::string& folder) {
  auto far = filtered().iterate({.bookmark_every = 16});
  for (int i = 0; i < 5000; ++i) far.next();
  write_whole(folder + "/bookmarked.txt", far.checkpoint().to_text());

  write_numbers(folder);
  auto iterator = drawn(folder).iterate();
  for (int i = 0; i < 100; ++i) iterator.next();
  write_whole(folder + "/checkpoint.txt", iterator.checkpoint().to_text());
  std::vector<std::int64_t> rest;
  while (const auto value = iterator.next()) rest.push_back(*value);
  write_whole(folder + "/rest.txt", text_of(rest));
}

void expect_checkpoint(const std::string& folder) {
  const std::string bookmarked = read_whole(folder + "/bookmarked.txt");
  EXPECT_THAT(bookmarked, HasSubstr("\nbookmark "));
  auto far = filtered().iterate({.resume = Checkpoint::from_text(bookmarked)});
  EXPECT_EQ(far.next(), 7501);

  const Checkpoint checkpoint = Checkpoint::from_text(read_whole(folder + "/checkpoint.txt"));
  EXPECT_EQ(checkpoint.position, 100u);
  std::vector<std::int64_t> rest;
  for (const std::int64_t value : drawn(folder).iterate({.resume = checkpoint})) {
    rest.push_back(value);
  }
  EXPECT_EQ(text_of(rest), read_whole(folder + "/rest.txt"));
}

auto cached(const std::string& folder, std::vector<StoreEvent::Kind>* events = nullptr) {
  return numbers(folder) | cache({.path = folder + "/cache",
                                  .shard_bytes = 1024,
                                  .on_event = [events](const StoreEvent& event) {
                                    if (events != nullptr) events->push_back(event.kind);
                                  }});
}

void keep_stores(const std::string& folder) {
  write_numbers(folder);
  (void)cached(folder).count();
  const SnapshotSummary summary =
      write_snapshot(numbers(folder), {.path = folder + "/snapshots", .shard_bytes = 1024});
  EXPECT_EQ(summary.errors, 0u);
}

void expect_stores(const std::string& folder) {
  const std::string expected = text_of(numbers(folder).collect());
  std::vector<StoreEvent::Kind> events;
  EXPECT_EQ(text_of(cached(folder, &events).collect()), expected);
  EXPECT_THAT(events, ElementsAre(StoreEvent::Kind::reading));
  EXPECT_EQ(text_of(read_snapshot<std::int64_t>(folder + "/snapshots").collect()), expected);
}

void keep_training(const std::string& folder) {
  const Tensor weights = Tensor::copy_of<float>({2, 2}, {1.5F, -2.0F, 0.0F, 4.25F});
  TrainingState state{.step = 1234};
  state.tensors = {{"dense/kernel", weights}};
  state.bytes = {{"optimiser", std::string("\0\n\xff", 3)}};
  save_training_checkpoint(folder, state);
}

void expect_training(const std::string& folder) {
  const auto newest = latest_training_checkpoint(folder);
  ASSERT_TRUE(newest);
  const auto saved = TrainingCheckpoint::open(*newest);
  EXPECT_EQ(saved.step(), 1234u);
  EXPECT_EQ(saved.bytes("optimiser"), std::string("\0\n\xff", 3));
  const Tensor weights = saved.tensor("dense/kernel", DType::float32, {2, 2});
  const auto values = weights.values<float>();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()),
              ElementsAre(1.5F, -2.0F, 0.0F, 4.25F));
}

/// Also writes what the tuner learnt.
void keep_run(const std::string& folder) {
  SimulatedRun tuned;
  tuned.run(5);
  write_whole(folder + "/tuning.txt", tuned.profile);

  const std::string file = folder + "/run.profile";
  {
    const auto squares = range(2000) | map([](std::int64_t x) { return x * x; });
    auto iterator =
        (squares | repeat() | batch(50) | prefetch()).iterate({.recording = {.file = file}});
    for (int step = 0; step < 200; ++step) iterator.next();
  }
  // Nothing of the machine that writes it.
  std::string text =
      std::regex_replace(read_whole(file), std::regex(R"("host": "[^"]*")"), R"("host": "host")");
  text = std::regex_replace(text, std::regex(R"("program": "[^"]*")"), R"("program": "train")");
  write_whole(file, text);
}

void expect_run(const std::string& folder) {
  const tools::RecordedRun run = tools::read_recorded_run(folder + "/run.profile");
  EXPECT_EQ(run.program, "train");
  EXPECT_FALSE(run.is_cut);
  EXPECT_EQ(run.end, "iterator destroyed");
  std::vector<std::string> stages;
  for (const tools::RecordedStage& stage : run.stages) stages.push_back(stage.name);
  EXPECT_THAT(stages, ElementsAre("prefetch", "batch", "repeat", "map", "range"));
  EXPECT_THAT(run.windows, Not(IsEmpty()));

  const std::string profile = read_whole(folder + "/tuning.txt");
  std::smatch cores;
  std::smatch workers;
  ASSERT_TRUE(std::regex_search(profile, cores, std::regex("\ncores (\\S+)\n"))) << profile;
  ASSERT_TRUE(std::regex_search(profile, workers, std::regex("\nworkers (\\d+) map\n"))) << profile;
  TuningObservation seen{.cores = std::stod(cores.str(1))};
  seen.stages = {{.label = "map"}};
  seen.knobs = {{.id = 7, .value = 1, .min = 0, .max = 64}};
  const TuningDecision decision = make_tuner(profile)->observe(seen);
  ASSERT_EQ(decision.settings.size(), 1u);
  EXPECT_EQ(decision.settings[0].value, std::stoll(workers.str(1)));
}

describe::Description read_description(const std::string& json) {
  return describe::Description::from_json(
      json, std::make_shared<const describe::StageTable>(describe::native_stages()));
}

std::string rows_of(const describe::Description& description) {
  std::vector<std::int64_t> rows;
  for (const ColumnBatch& batch : description.elements().batches("the test").iterate()) {
    for (const std::int64_t value : batch.column("value").values<std::int64_t>())
      rows.push_back(value);
  }
  return text_of(rows);
}

void keep_descriptions(const std::string& folder) {
  const auto description = read_description(R"({"stages": [
      {"stage": "range", "stop": 100}, {"stage": "shuffle", "buffer": 10, "seed": 42},
      {"stage": "take", "count": 70}, {"stage": "batch", "size": 8}]})");
  write_whole(folder + "/pipeline.json", description.to_json());
  write_whole(folder + "/rows.txt", rows_of(description));
  const auto schema = ColumnSchema()
                          .column("age", DType::int32)
                          .column("image", DType::uint8, {28, 28})
                          .bytes("city");
  write_whole(folder + "/schema.json", schema.to_json());
}

void expect_descriptions(const std::string& folder) {
  const std::string json = read_whole(folder + "/pipeline.json");
  const auto description = read_description(json);
  EXPECT_EQ(description.to_json(), json);
  EXPECT_EQ(rows_of(description), read_whole(folder + "/rows.txt"));
  const std::string schema = read_whole(folder + "/schema.json");
  EXPECT_EQ(ColumnSchema::from_json(schema).to_json(), schema);
}

}  // namespace

std::vector<KeptFormat> kept_formats() {
  return {{"records", keep_records, expect_records},
          {"dataset", keep_dataset, expect_dataset},
          {"unfinished", keep_unfinished, expect_unfinished},
          {"checkpoint", keep_checkpoint, expect_checkpoint},
          {"stores", keep_stores, expect_stores},
          {"training", keep_training, expect_training},
          {"run", keep_run, expect_run},
          {"descriptions", keep_descriptions, expect_descriptions}};
}

}  // namespace infeed::test
