#include "drain.h"
#include "limits.h"

// One stage after a range, and the chains whose figures the design promises. The peers' twins are
// in tfdata_engine.py and mlx_data.py under the same names.
namespace infeed::compare {
namespace {

struct Line {
  std::array<float, 16> values;  // 64 bytes
};
std::uint64_t touch(const Line& line) { return static_cast<std::uint64_t>(line.values[0]); }

const auto kAddOne = [](std::int64_t x) { return x + 1; };

Dataset<std::int64_t> map_ten_times(Dataset<std::int64_t> input) {
  for (int i = 0; i < 10; ++i) input = input | map(kAddOne);
  return input;
}

Dataset<Line> lines(std::int64_t n) {
  return range(n) | map([](std::int64_t i) {
           Line line{};
           line.values[0] = static_cast<float>(i);
           return line;
         });
}

// 40 characters: too long to lie inside the std::string, as in real text.
Dataset<std::string> texts(std::int64_t n) {
  return range(n) |
         map([](std::int64_t i) { return std::string(40, static_cast<char>('a' + i % 26)); });
}

/// Measures a row beside its limit, or beside itself with a recording.
template <class Make, class Limit>
Measurement beside(const RunOptions& options, Make make, Limit limit_ns) {
  const Measurement measured = ns_an_element(options, make);
  return options.recording.empty() ? Measurement{measured.ours, limit_ns(options)} : measured;
}

/// Makes a row beside its limit.
template <class Make, class Limit>
Row row_beside(std::string name, Make make, Limit limit_ns) {
  return {std::move(name), [=](const RunOptions& run) { return beside(run, make, limit_ns); }};
}

Measurement ten_maps(const RunOptions& options) {
  const auto make = [](std::int64_t n) { return map_ten_times(range(n)); };
  return beside(options, make, ten_calls_ns);
}

/// Measures both with the same number of elements: what one costs depends on it.
Measurement different_numbers(RunOptions options) {
  if (options.elements == 0) options.elements = 2'000'000;
  return beside(
      options, [](std::int64_t n) { return range(n) | unique(); }, hash_table_ns);
}

Measurement chain(const RunOptions& options) {
  const auto make = [](std::int64_t n) {
    return range(n) | map(kAddOne) | shuffle({.buffer = 10'000, .seed = 42}) | batch(128) |
           prefetch();
  };
  return beside(options, make, shuffled_batches_ns);
}

std::vector<Row> stage_rows() {
  return {
      ns_row("range", [](std::int64_t n) { return range(n); }),
      row_beside(
          "map", [](std::int64_t n) { return range(n) | map(kAddOne); }, one_call_ns),
      {"range | map x10", ten_maps},
      row_beside(
          "filter",
          [](std::int64_t n) {
            return range(n) | filter([](std::int64_t x) { return x % 2 == 0; });
          },
          one_call_ns),
      ns_row("shuffle(10000)",
             [](std::int64_t n) { return range(n) | shuffle({.buffer = 10'000, .seed = 42}); }),
      row_beside(
          "scan",
          [](std::int64_t n) {
            return range(n) | scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t x) {
                     return std::pair(sum + x, sum + x);
                   });
          },
          one_call_ns),
      ns_row("batch(128)", [](std::int64_t n) { return range(n) | batch(128); }),
      ns_row("batch(128) | unbatch",
             [](std::int64_t n) { return range(n) | batch(128) | unbatch(); }),
      row_beside(
          "take_while",
          [](std::int64_t n) {
            return range(n) | take_while([n](std::int64_t x) { return x < n; });
          },
          one_call_ns),
      {"unique", different_numbers},
      ns_row("repeat", [](std::int64_t n) { return range(1000) | repeat(n / 1000); }),
      ns_row("enumerate", [](std::int64_t n) { return range(n) | enumerate(); }),
      ns_row("take", [](std::int64_t n) { return range(2 * n) | take(n); }),
      ns_row("skip", [](std::int64_t n) { return range(n + 1000) | skip(1000); }),
      ns_row("shard(4)",
             [](std::int64_t n) { return range(4 * n) | shard({.count = 4, .index = 1}); }),
      ns_row("prefetch(2)", [](std::int64_t n) { return range(n) | prefetch(2); }),
      ns_row("prefetch(autotune)", [](std::int64_t n) { return range(n) | prefetch(); }),
      {"range | map | shuffle(10000) | batch(128) | prefetch", chain},
  };
}

std::vector<Row> element_rows() {
  return {
      ns_row("map, 64-byte elements",
             [](std::int64_t n) {
               return lines(n) | map([](Line line) {
                        for (float& value : line.values) value += 1;
                        return line;
                      });
             }),
      ns_row("shuffle(10000), 64-byte elements",
             [](std::int64_t n) { return lines(n) | shuffle({.buffer = 10'000, .seed = 42}); }),
      ns_row("batch(128), 64-byte elements", [](std::int64_t n) { return lines(n) | batch(128); }),
      ns_row("map, std::string",
             [](std::int64_t n) {
               return texts(n) | map([](std::string text) {
                        text += '!';
                        return text;
                      });
             }),
      ns_row("shuffle(10000), std::string",
             [](std::int64_t n) { return texts(n) | shuffle({.buffer = 10'000, .seed = 42}); }),
      ns_row("batch(128), std::string", [](std::int64_t n) { return texts(n) | batch(128); }),
  };
}

/// Measures the second pass; the first one fills the cache.
Measurement cached(const RunOptions& options) {
  const auto make = [](std::int64_t n) {
    const auto dataset = range(n) | cache();
    drain(dataset);
    return dataset;
  };
  return ns_an_element(options, make);
}

std::vector<Row> nesting_rows() {
  const auto thousand = [](std::int64_t) { return range(1000); };
  return {
      ns_row("zip", [](std::int64_t n) { return zip(range(n), range(n)); }),
      ns_row("flat_map", [=](std::int64_t n) { return range(n / 1000) | flat_map(thousand); }),
      row_beside(
          "interleave(16)",
          [=](std::int64_t n) {
            return range(n / 1000) | interleave(thousand, {.cycle_length = 16});
          },
          cursors_ns),
      ns_row("interleave(16), parallel",
             [=](std::int64_t n) {
               return range(n / 1000) |
                      interleave(thousand, {.cycle_length = 16, .parallelism = autotune});
             }),
      row_beside(
          "window(10)", [](std::int64_t n) { return range(n) | window({.size = 10}); }, windows_ns),
      row_beside(
          "padded_batch(32)",
          [](std::int64_t n) {
            return range(n) | map([](std::int64_t x) {
                     return std::vector<std::int64_t>(static_cast<std::size_t>(x % 20), x);
                   }) |
                   padded_batch(32);
          },
          padded_rows_ns),
      {"cache", cached},
  };
}

}  // namespace

std::vector<Row> engine_rows() {
  std::vector<Row> rows = stage_rows();
  for (Row& row : nesting_rows()) rows.push_back(std::move(row));
  for (Row& row : element_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace infeed::compare
