#include <infeed/infeed.h>

#include "resume_row.h"

namespace infeed::resume {
namespace {

constexpr std::int64_t kPlenty = 1'000'000'000;

auto numbers() { return range(kPlenty); }
bool is_kept(std::int64_t x) { return x % 3 != 0; }
/// A source that a stage can't seek in.
auto filtered() { return numbers() | filter(is_kept); }

std::int64_t add_one(std::int64_t x) { return x + 1; }

struct Number {
  std::int64_t x;
};

/// Returns 1 to 24 tokens.
std::vector<std::int32_t> document_of(std::int64_t x) {
  const std::uint64_t drawn = static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15U;
  return std::vector<std::int32_t>(1 + (drawn >> 32) % 24, static_cast<std::int32_t>(x));
}
auto documents() { return numbers() | map(document_of); }

auto columns() {
  return map([](const auto& batch) { return as_columns(batch, {"tokens"}); });
}

auto inner_numbers(std::int64_t x) { return range(x, x + 1 + x % 20) | filter(is_kept); }

std::int64_t failing(std::int64_t x) {
  if (x == 1000) throw Error(ErrorCode::data_loss, "element 1000");
  return x;
}

void add_sources(std::vector<ResumeRow>& rows, std::uint64_t element) {
  rows.push_back(row("range", "range", numbers));
  const auto memory = std::make_shared<const std::vector<std::int64_t>>(element + 10, 7);
  rows.push_back(row("slices", "slices(vector)", [memory] { return slices(memory); }));
  rows.push_back(row("from_memory", "from_memory(span)", [memory] {
    return from_memory(std::span<const std::int64_t>(*memory), memory);
  }));
  rows.push_back(row("from_columns", "from_columns(batch, 1)", [memory] {
    const auto count = static_cast<std::int64_t>(memory->size());
    const Tensor values = Tensor::copy_of({count}, std::span<const std::int64_t>(*memory));
    return from_columns(ColumnBatch({{"x", Column::dense(values)}}), 1);
  }));
  rows.push_back(row(
      "generate", "generate(counter)",
      [] {
        return generate(
            [] { return [x = std::int64_t{0}]() mutable { return std::optional(x++); }; });
      },
      "the function's state is the user's: it is called again"));
  rows.push_back(row("random_integers", "random_integers", [] {
    return random_integers({.seed = 1}) |
           map([](std::uint64_t x) { return static_cast<std::int64_t>(x >> 1); });
  }));
}

void add_elementwise(std::vector<ResumeRow>& rows) {
  rows.push_back(row("map", "range | map", [] { return numbers() | map(add_one); }));
  rows.push_back(row("map, parallel", "range | map(parallelism = 2)",
                     [] { return numbers() | map(add_one, {.parallelism = 2}); }));
  rows.push_back(row("filter", "range | filter", filtered));
  rows.push_back(row("filter, rare", "range | filter, 1 of 20", [] {
    return numbers() | filter([](std::int64_t x) { return x % 20 == 7; });
  }));
  rows.push_back(row("enumerate", "filter | enumerate", [] {
    return filtered() | enumerate() |
           map([](std::int64_t number, std::int64_t x) { return number ^ x; });
  }));
  rows.push_back(row(
      "scan", "range | scan",
      [] {
        return numbers() | scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
                 return std::pair((sum + x) % 1000, sum);
               });
      },
      "its state is the user's: the function is called again"));
  rows.push_back(row("take_while", "filter | take_while", [] {
    return filtered() | take_while([](std::int64_t x) { return x >= 0; });
  }));
}

void add_inner(std::vector<ResumeRow>& rows) {
  rows.push_back(row("flat_map", "range | flat_map(range | filter)",
                     [] { return numbers() | flat_map(inner_numbers); }));
  rows.push_back(row("interleave", "range | interleave(range | filter), cycle 16",
                     [] { return numbers() | interleave(inner_numbers, {.cycle_length = 16}); }));
  rows.push_back(row("interleave, parallel", "the same, parallelism = 2", [] {
    return numbers() | interleave(inner_numbers, {.cycle_length = 16, .parallelism = 2});
  }));
}

void add_order(std::vector<ResumeRow>& rows, std::uint64_t element) {
  rows.push_back(row("shuffle", "filter | shuffle(10,000)",
                     [] { return filtered() | shuffle({.buffer = 10'000, .seed = 1}); }));
  rows.push_back(row("shuffle, whole_input", "range | shuffle(whole_input)", [element] {
    return range(static_cast<std::int64_t>(element + 10)) |
           shuffle({.buffer = whole_input, .seed = 1});
  }));
  rows.push_back(row("global_shuffle", "range | global_shuffle",
                     [] { return range(100'000'000) | global_shuffle({.seed = 1}); }));
}

void add_batches(std::vector<ResumeRow>& rows) {
  rows.push_back(row("batch", "filter | batch(2)", [] { return filtered() | batch(2); }));
  rows.push_back(row("batch, errors", "map that failed | skip_errors | batch(2)",
                     [] { return numbers() | map(failing) | skip_errors() | batch(2); }));
  rows.push_back(row("batch_into", "filter | batch_into(2)", [] {
    return filtered() |
           batch_into<Number>(
               2, [](std::int64_t x, const Row<Number>& out) { out.column(&Number::x) = x; }) |
           map([](const Batch<Number>& batch) { return batch.column(&Number::x)[1]; });
  }));
  rows.push_back(row("unbatch", "filter | batch(7) | unbatch",
                     [] { return filtered() | batch(7) | unbatch(); }));
  rows.push_back(row("rebatch", "filter | batch(7) | rebatch(3)",
                     [] { return filtered() | batch(7) | rebatch(3); }));
  rows.push_back(row("padded_batch", "documents | padded_batch(2)",
                     [] { return documents() | padded_batch(2) | columns(); }));
  rows.push_back(row("ragged_batch", "documents | ragged_batch(2)",
                     [] { return documents() | ragged_batch(2) | columns(); }));
  rows.push_back(row("pack", "documents | pack(1, length 32, window 64)", [] {
    return documents() | pack(1, {.length = 32, .window = 64, .columns = {{.name = "tokens"}}});
  }));
  rows.push_back(row("bucket_by_sequence_length", "documents, 4 buckets of 16", [] {
    return documents() |
           bucket_by_sequence_length(
               [](const std::vector<std::int32_t>& tokens) { return tokens.size(); },
               {.boundaries = {6, 12, 18}, .batch_sizes = {4, 4, 4, 4}}) |
           columns();
  }));
  rows.push_back(row("group_by_window", "range | group_by_window(x % 100, 4)", [] {
    return numbers() |
           group_by_window(
               [](std::int64_t x) { return x * x % 100; },
               [](std::int64_t, std::vector<std::int64_t> window) { return window.front(); }, 4);
  }));
  rows.push_back(row("window", "filter | window(5, shift 2)",
                     [] { return filtered() | window({.size = 5, .shift = 2}); }));
}

void add_streams(std::vector<ResumeRow>& rows, std::uint64_t element) {
  rows.push_back(
      row("cache", "filter | cache", [] { return filtered() | take(2'000'000) | cache(); }));
  rows.push_back(row("optional_cache", "filter | optional_cache",
                     [] { return filtered() | take(2'000'000) | optional_cache(); }));
  rows.push_back(row("zip", "zip(filter, range)", [] {
    return zip(filtered(), numbers()) |
           map([](std::int64_t a, std::int64_t b) { return a * 31 + b; });
  }));
  rows.push_back(row("concatenate", "filter of a half | concatenate(filter)", [element] {
    const auto half = static_cast<std::int64_t>(element) / 2;
    return range(half) | filter(is_kept) | concatenate(filtered());
  }));
  rows.push_back(row("sample_from_datasets", "of two filters", [] {
    return sample_from_datasets({filtered(), filtered()}, {.weights = {0.7, 0.3}, .seed = 1});
  }));
  rows.push_back(row("choose_from_datasets", "of two filters", [] {
    return choose_from_datasets({filtered(), filtered()}, range(2) | repeat());
  }));
  rows.push_back(row("take, skip", "filter | skip(10) | take",
                     [] { return filtered() | skip(10) | take(kPlenty); }));
  rows.push_back(row("repeat", "filter of a tenth | repeat", [element] {
    return range(static_cast<std::int64_t>(element) / 10) | filter(is_kept) | repeat();
  }));
  rows.push_back(row("shard", "filter | shard(2)",
                     [] { return filtered() | shard({.count = 2, .index = 1}); }));
  rows.push_back(row("prefetch", "filter | prefetch", [] { return filtered() | prefetch(); }));
  rows.push_back(row("skip_errors", "map that failed | skip_errors",
                     [] { return numbers() | map(failing) | skip_errors(); }));
  rows.push_back(row("rejection_resample", "range, 3 classes", [] {
    return numbers() | rejection_resample([](std::int64_t x) { return x * x % 3; },
                                          {.target = {0.5, 0.5, 0}, .seed = 1});
  }));
  rows.push_back(row(
      "unique", "range | unique", [] { return numbers() | unique(); },
      "its state is all values seen: they are looked at again"));
  rows.push_back(row("assert_cardinality", "range | assert_cardinality",
                     [] { return numbers() | assert_cardinality(kPlenty); }));
}

}  // namespace

std::vector<ResumeRow> stage_rows(std::uint64_t element) {
  std::vector<ResumeRow> rows;
  add_sources(rows, element);
  add_elementwise(rows);
  add_inner(rows);
  add_order(rows, element);
  add_batches(rows);
  add_streams(rows, element);
  return rows;
}

}  // namespace infeed::resume
