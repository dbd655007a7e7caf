#include <thread>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "quiet_run.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::int64_t add(std::int64_t x) { return x + 1; }
std::int64_t fails(std::int64_t) { throw std::runtime_error("no"); }

template <class T>
std::vector<std::string> labels_of(Iterator<T>& iterator) {
  std::vector<std::string> labels;
  for (const auto& stage : iterator.statistics().stages) labels.push_back(stage.label);
  return labels;
}

template <class T>
std::vector<std::string> labels_of(const Dataset<T>& dataset) {
  auto iterator = dataset.iterate();
  while (iterator.next()) {
  }
  return labels_of(iterator);
}

TEST(StageName, TellsStagesApart) {
  EXPECT_THAT(labels_of(range(3) | map(add)), ElementsAre("map", "range"))
      << "without a number where there is only one";
  EXPECT_THAT(labels_of(range(3) | map(add) | map(add, {.name = "augment"}) | map(add)),
              ElementsAre("map[3]", "map[2] 'augment'", "map[1]", "range"));
  const auto side = range(3) | map(add);
  EXPECT_THAT(labels_of(zip({.name = "both"}, side, side)),
              ElementsAre("zip 'both'", "map[1]", "range[1]", "map[2]", "range[2]"))
      << "the same description, at two places";
}

TEST(StageName, NumbersDoNotDependOnWhatIsOpen) {
  auto iterator = (range(1) | map(add) | concatenate(range(1) | map(add))).iterate();
  iterator.next();
  EXPECT_THAT(labels_of(iterator), ElementsAre("concatenate", "map[1]", "range[1]"));
  iterator.next();
  EXPECT_THAT(labels_of(iterator),
              ElementsAre("concatenate", "map[1]", "range[1]", "map[2]", "range[2]"));
}

TEST(StageName, InnerDatasetsHaveNumbersOfTheirOwn) {
  const auto inner = [](std::int64_t x) { return range(x) | map(add) | map(add, {.name = "in"}); };
  for (const int parallelism : {1, 2}) {
    auto iterator =
        (range(4) | map(add) | interleave(inner, {.parallelism = parallelism})).iterate();
    take_stream(iterator);
    EXPECT_THAT(labels_of(iterator),
                ElementsAre("interleave", "map", "range", "map[2] 'in'", "map[1]", "range"));
    const auto stages = iterator.statistics().stages;
    EXPECT_EQ(stages[3].path, "interleave < map[2] 'in'");
    EXPECT_EQ(stages[3].inside, 0);
    EXPECT_EQ(stages[3].consumer, 0);
    EXPECT_EQ(stages[2].inside, -1);
    EXPECT_EQ(stages[2].consumer, 1);
  }
}

TEST(StageName, ErrorsSayIt) {
  for (const int parallelism : {1, 2}) {
    auto iterator = (range(3) | map(add) |
                     map(fails, {.parallelism = parallelism, .name = "augment"}) | batch(2))
                        .iterate();
    EXPECT_STREQ(error_of([&] { iterator.next(); }).what(),
                 "user_function: no [stage batch < map[2] 'augment']");
  }
}

TEST(StageName, TheMemoryThatIsRefusedSaysIt) {
  const auto dataset = range(1000) | shuffle({.buffer = 1000, .name = "mix"});
  EXPECT_THAT(error_of([&] { dataset.iterate({.memory_bytes_max = 1000}); }).what(),
              HasSubstr("(shuffle 'mix' "));
}

/// It gives nothing until the run is cancelled.
class HangingStage final : public Stage {
 public:
  using Stage::Stage;
  Pull do_pull(Chunk&, std::size_t) override {
    while (!cancelled()) std::this_thread::yield();
    return Pull::cancelled;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }
};

class HangingNode final : public Node {
 public:
  explicit HangingNode(const NodePointer& input) : Node("hang", input->type(), {input}) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<HangingStage>(context);
  }
};

TEST(StageName, TheWatchdogSaysItOfAStageOfOnesOwn) {
  const auto make = [](const NodePointer& input) -> NodePointer {
    return std::make_shared<HangingNode>(input);
  };
  const auto dataset =
      range(3) | map(add) | named_stage("camera", untyped_stage(make)) | prefetch();
  // On a busy machine the threads may take longer to come there.
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    auto iterator = dataset.iterate({.watchdog = std::chrono::milliseconds(400)});
    return error_of([&] { iterator.next(); }).message() ==
           "nothing has moved for 400 ms: the consumer waits for prefetch; prefetch waits for hang "
           "'camera'; hang 'camera' is inside its own code (a user's function, a read, or a full "
           "queue)";
  }));
}

Dataset<std::int64_t> shuffled(StageName map_name, StageName shuffle_name) {
  return range(100) | map(add, {.name = map_name}) |
         shuffle({.buffer = 10, .seed = 1, .name = shuffle_name});
}

TEST(StageName, IsNoPartOfACheckpoint) {
  auto before = shuffled(std::nullopt, "mix").iterate({.order_hash = true});
  auto other = shuffled("add", std::nullopt).iterate({.order_hash = true});
  for (int i = 0; i < 40; ++i) EXPECT_EQ(before.next(), other.next());
  EXPECT_EQ(before.order_hash(), other.order_hash());
  EXPECT_EQ(before.checkpoint().to_text(), other.checkpoint().to_text());
  auto resumed =
      shuffled("add", "stir").iterate({.resume = before.checkpoint(), .order_hash = true});
  EXPECT_EQ(take_stream(resumed), take_stream(before));
  EXPECT_EQ(resumed.order_hash(), before.order_hash());
}

TEST(StageName, IsNoPartOfACachesContent) {
  const TemporaryFolder folder;
  std::vector<StoreEvent::Kind> events;
  for (const char* const name : {"before", "behind"}) {
    const auto note = [&](const StoreEvent& event) { events.push_back(event.kind); };
    stream_of(range(10) | map(add, {.name = name}) |
              cache({.path = folder.file("cache"), .on_event = note, .name = name}));
  }
  EXPECT_THAT(events, ElementsAre(StoreEvent::Kind::writing, StoreEvent::Kind::finished,
                                  StoreEvent::Kind::reading));
}

TEST(StageName, HasRules) {
  const auto refused = [](const std::string& name) {
    const Error error = error_of([&] { range(3) | map(add, {.name = name}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  const std::string expected = "; give 1 to 64 printable ASCII characters, or no name";
  EXPECT_EQ(refused(""), "map: its name is empty" + expected);
  EXPECT_EQ(refused(std::string(65, 'x')), "map: its name has 65 characters" + expected);
  EXPECT_EQ(refused("two\nlines"), "map: its name has the byte 0x0a at 3" + expected);
  EXPECT_EQ(refused("gr\xc3\xbc"), "map: its name has the byte 0xc3 at 2" + expected);
  EXPECT_EQ((range(3) | map(add, {.name = std::string(64, '~')})).node()->given_name(),
            std::string(64, '~'));
}

template <class T>
std::string name_of(const Dataset<T>& dataset) {
  return dataset.node()->described();
}

TEST(StageName, EverySourceTakesOne) {
  const std::vector<std::string> list = {"a", "b"};
  EXPECT_EQ(name_of(range(3, {.name = "n"})), "range 'n'");
  EXPECT_EQ(name_of(range(0, 3, 1, {.name = "n"})), "range 'n'");
  EXPECT_EQ(name_of(counter(0, 1, {.name = "n"})), "counter 'n'");
  EXPECT_EQ(name_of(random_integers({.name = "n"})), "random_integers 'n'");
  EXPECT_EQ(name_of(slices({1, 2}, {.name = "n"})), "slices 'n'");
  EXPECT_EQ(name_of(slices(list, {.name = "n"})), "slices 'n'");
  EXPECT_EQ(name_of(files(list, {.name = "n"})), "files 'n'");
  const auto shuffled_files = files(list, {.shuffle = true, .seed = 1, .name = "n"});
  EXPECT_EQ(shuffled_files.node()->input().described(), "files 'n'");
  EXPECT_EQ(name_of(records(list, {.name = "n"})), "records 'n'");
  const auto make = [] { return [] { return std::optional<int>(); }; };
  EXPECT_EQ(name_of(generate(make, {.name = "n"})), "generate 'n'");
  EXPECT_EQ(name_of(zip({.name = "n"}, range(3), range(3))), "zip 'n'");
  const std::vector<Dataset<std::int64_t>> two = {range(3), range(3)};
  EXPECT_EQ(name_of(sample_from_datasets(two, {.seed = 1, .name = "n"})),
            "sample_from_datasets 'n'");
  EXPECT_EQ(name_of(choose_from_datasets(two, range(2), {.name = "n"})),
            "choose_from_datasets 'n'");
  const TemporaryFolder folder;
  write_snapshot(range(3), {.path = folder.path()});
  EXPECT_EQ(name_of(read_snapshot<std::int64_t>(folder.path(), {.name = "n"})),
            "read_snapshot 'n'");
}

TEST(StageName, EveryStageOfOneElementTakesOne) {
  const auto input = range(4);
  const auto even = [](std::int64_t x) { return x % 2 == 0; };
  const auto inner = [](std::int64_t x) { return range(x); };
  const auto sum = [](std::int64_t state, std::int64_t x) { return std::pair(state + x, x); };
  EXPECT_EQ(name_of(input | map(add, {.name = "n"})), "map 'n'");
  EXPECT_EQ(name_of(input | filter(even, {.name = "n"})), "filter 'n'");
  EXPECT_EQ(name_of(input | take_while(even, {.name = "n"})), "take_while 'n'");
  EXPECT_EQ(name_of(input | enumerate(0, {.name = "n"})), "enumerate 'n'");
  EXPECT_EQ(name_of(input | flat_map(inner, {.name = "n"})), "flat_map 'n'");
  EXPECT_EQ(name_of(input | interleave(inner, {.name = "n"})), "interleave 'n'");
  EXPECT_EQ(name_of(input | scan(std::int64_t{0}, sum, {.name = "n"})), "scan 'n'");
  EXPECT_EQ(name_of(input | shuffle({.buffer = 2, .name = "n"})), "shuffle 'n'");
  EXPECT_EQ(name_of(input | global_shuffle({.name = "n"})), "global_shuffle 'n'");
  EXPECT_EQ(name_of(input | concatenate(input, {.name = "n"})), "concatenate 'n'");
  EXPECT_EQ(name_of(input | take(1, {.name = "n"})), "take 'n'");
  EXPECT_EQ(name_of(input | skip(1, {.name = "n"})), "skip 'n'");
  EXPECT_EQ(name_of(input | repeat(1, {.name = "n"})), "repeat 'n'");
  EXPECT_EQ(name_of(input | shard({.count = 2, .index = 0, .name = "n"})), "shard 'n'");
  EXPECT_EQ(name_of(input | prefetch(autotune, {.name = "n"})), "prefetch 'n'");
  EXPECT_EQ(name_of(input | skip_errors({.name = "n"})), "skip_errors 'n'");
  EXPECT_EQ(name_of(slices(std::vector<Record>(1)) | leave_out({}, {.name = "n"})),
            "leave_out 'n'");
  EXPECT_EQ(name_of(input | unique({.name = "n"})), "unique 'n'");
  EXPECT_EQ(name_of(input | assert_cardinality(4, {.name = "n"})), "assert_cardinality 'n'");
  EXPECT_EQ(name_of(input | cache(StageOptions{.name = "n"})), "cache 'n'");
  EXPECT_EQ(name_of(input | cache({.path = "unused", .name = "n"})), "cache 'n'");
  EXPECT_EQ(name_of(input | snapshot({.path = "unused", .name = "n"})), "snapshot 'n'");
  const auto class_of = [](std::int64_t x) { return x % 2; };
  EXPECT_EQ(name_of(input | rejection_resample(class_of, {.target = {0.5, 0.5}, .name = "n"})),
            "rejection_resample 'n'");
}

TEST(StageName, EveryStageOfBatchesTakesOne) {
  const auto input = range(4);
  const auto lists = input | map([](std::int64_t x) { return std::vector<std::int64_t>{x}; });
  const auto length = [](const auto& list) { return list.size(); };
  EXPECT_EQ(name_of(input | batch(2, {.name = "n"})), "batch 'n'");
  EXPECT_EQ(name_of(input | batch(2) | unbatch({.name = "n"})), "unbatch 'n'");
  const auto columns = input | map([](std::int64_t x) {
                         return ColumnBatch({{"x", column_of(std::vector<std::int64_t>{x})}});
                       });
  EXPECT_EQ(name_of(columns | unbatch_as<std::int64_t>({"x"}, {.name = "n"})), "unbatch 'n'");
  EXPECT_EQ(name_of(columns | features({feature::Clip{.column = "x"}}, {.name = "n"})),
            "features 'n'");
  EXPECT_EQ(name_of(input | batch(2) | rebatch(1, {.name = "n"})), "rebatch 'n'");
  EXPECT_EQ(name_of(input | window({.size = 2, .name = "n"})), "window 'n'");
  EXPECT_EQ(name_of(lists | padded_batch(2, {.name = "n"})), "padded_batch 'n'");
  EXPECT_EQ(name_of(lists | ragged_batch(2, {.name = "n"})), "ragged_batch 'n'");
  EXPECT_EQ(name_of(lists | pack(2, {.length = 4, .columns = {{.name = "x"}}, .name = "n"})),
            "pack 'n'");
  EXPECT_EQ(name_of(lists | bucket_by_sequence_length(
                                length, {.boundaries = {2}, .batch_sizes = {1, 1}, .name = "n"})),
            "bucket_by_sequence_length 'n'");
  const auto key = [](std::int64_t x) { return x % 2; };
  const auto reduce = [](std::int64_t, std::vector<std::int64_t> group) { return group.size(); };
  EXPECT_EQ(name_of(input | group_by_window(key, reduce, 2, {.name = "n"})), "group_by_window 'n'");
}

struct Sample {
  std::int64_t label;
};

TEST(StageName, StagesThatParseTakeOne) {
  const auto input = slices({std::string("x")});
  const auto schema = ExampleSchema<Sample>().feature("label", &Sample::label);
  EXPECT_EQ(name_of(input | parse(schema, {.name = "n"})), "parse 'n'");
  const auto source = records(std::vector<std::string>{"unused"});
  EXPECT_EQ(name_of(source | parse_batch(schema, 2, {.name = "n"})), "parse_batch 'n'");
}

}  // namespace
}  // namespace infeed::test
