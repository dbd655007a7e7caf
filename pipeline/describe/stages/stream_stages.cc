#include <infeed/pipeline/assert_cardinality.h>
#include <infeed/pipeline/global_shuffle.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/shuffle.h>
#include <infeed/pipeline/skip.h>
#include <infeed/pipeline/skip_errors.h>
#include <infeed/pipeline/take.h>

#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct CountStage : StageOptions {
  std::int64_t count = -1;
};
struct PrefetchStage : StageOptions {
  Count depth = autotune;
};
/// "whole_input" as the buffer of a full shuffle.
struct BufferSize {
  Count count = 1;
};
struct ShuffleStage : ShuffleOptions {
  BufferSize size = {};
};

template <class MakeStage>
void add_counted(StageTable& table, const char* name, const char* doc, const char* count,
                 bool is_required, MakeStage make) {
  auto added = table.add(name, doc, CountStage{});
  if (is_required) {
    added.required("count", &CountStage::count, count);
  } else {
    added.option("count", &CountStage::count, count);
  }
  added.makes([make](const CountStage& stage, const Making& making) {
    return making.input().then(make(stage.count, stage));
  });
}

}  // namespace

template <>
struct OptionValue<BufferSize> {
  static std::string type() { return "int | Literal['whole_input']"; }
  static JsonText write(BufferSize size) {
    if (size.count == whole_input) return JsonText::of("whole_input");
    return JsonText::of(size.count.value());
  }
  static BufferSize read(const JsonText& value, const std::string& place) {
    if (value == JsonText::of("whole_input")) return {whole_input};
    return {OptionValue<Count>::read(value, place)};
  }
};

void add_stream_stages(StageTable& table) {
  add_counted(table, "take", "Gives the first elements.", "How many.", true,
              [](std::int64_t count, const StageOptions& o) { return take(count, o); });
  add_counted(table, "skip", "Gives all but the first elements.", "How many are passed over.", true,
              [](std::int64_t count, const StageOptions& o) { return skip(count, o); });
  add_counted(table, "repeat", "Reads the pipeline before it several times.",
              "How many times; -1: for ever.", false,
              [](std::int64_t count, const StageOptions& o) { return repeat(count, o); });
  add_counted(
      table, "assert_cardinality", "Says how many elements there are, and checks it.", "How many.",
      true, [](std::int64_t count, const StageOptions& o) { return assert_cardinality(count, o); });
  table.add("prefetch", "Works ahead in a thread of its own.", PrefetchStage{})
      .tuned("depth", &PrefetchStage::depth, "Elements kept ready; 0: no thread.")
      .makes([](const PrefetchStage& stage, const Making& making) {
        return making.input().then(prefetch(stage.depth.value(), stage));
      });
  table
      .add("shard", "Gives every count-th element, so that several workers share one stream.",
           ShardOptions{.count = 1, .index = 0})
      .required("count", &ShardOptions::count, "Number of shards.")
      .required("index", &ShardOptions::index, "Number of this shard, from 0.")
      .makes([](const ShardOptions& stage, const Making& making) {
        return making.input().then(shard(stage));
      });
  ShuffleStage shuffled{{.buffer = 1}};
  table
      .add("shuffle", "Keeps some elements and hands out a random one of them each time.", shuffled)
      .required("buffer", &ShuffleStage::size,
                "How many elements the next one is drawn from; 'whole_input' shuffles all.")
      .option("seed", &ShuffleStage::seed, kSeedText)
      .option("global_seed", &ShuffleStage::global_seed,
              "TensorFlow's set_seed, for orders that equal another program's.")
      .option("reshuffle_each_iteration", &ShuffleStage::reshuffle_each_iteration, kReshuffleText)
      .makes([](const ShuffleStage& stage, const Making& making) {
        ShuffleOptions options = stage;
        options.buffer = stage.size.count;
        return making.input().then(shuffle(options));
      });
  table
      .add("global_shuffle",
           "Shuffles the whole dataset without a buffer. Its input must be indexable.",
           GlobalShuffleOptions{})
      .option("seed", &GlobalShuffleOptions::seed, kSeedText)
      .option("reshuffle_each_iteration", &GlobalShuffleOptions::reshuffle_each_iteration,
              kReshuffleText)
      .makes([](const GlobalShuffleOptions& stage, const Making& making) {
        return making.input().then(global_shuffle(stage));
      });
  table.add("skip_errors", "Leaves out failed elements, up to a budget.", SkipErrorsOptions{})
      .option("count_max", &SkipErrorsOptions::count_max,
              "The most failed elements in a pass; without it any number.")
      .option("share_max", &SkipErrorsOptions::share_max, "The largest share of failed elements.")
      .option("share_after", &SkipErrorsOptions::share_after,
              "Elements after which the share is checked.")
      .option("quarantine_file", &SkipErrorsOptions::quarantine_file,
              "A file to which each error is added as a line of JSON.")
      .makes([](const SkipErrorsOptions& stage, const Making& making) {
        return making.input().then(skip_errors(stage));
      });
}

}  // namespace infeed::describe
