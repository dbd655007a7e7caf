#include <algorithm>
#include <benchmark/benchmark.h>
#include <charconv>
#include <cstddef>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <infeed/records/column_builder.h>
#include <infeed/records/features.h>
#include <infeed/records/fingerprint.h>

/// Each feature operation beside the plain loop that a user would write over vectors. One core, a
/// batch of 4,096 rows, in the cache. `features` must reach 0.7 of `plain`.
namespace infeed {
namespace {

namespace f = infeed::feature;

constexpr std::size_t kRows = 4096;
constexpr std::size_t kWords = 10'000;

std::vector<std::string> vocabulary() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kWords; ++i) {
    words.push_back("word" + std::string(i % 13, 'a') + std::to_string(i));
  }
  return words;
}

/// The same inputs for both sides.
struct Inputs {
  Inputs() {
    std::mt19937_64 random(1);
    const std::vector<std::string> words = vocabulary();
    std::normal_distribution<float> normal(20, 10);
    for (std::size_t i = 0; i < kRows; ++i) {
      texts.push_back(words[random() % kWords]);
      std::string list;
      for (std::size_t k = random() % 6; k > 0; --k) list += words[random() % 100] + "|";
      lists.push_back(list.empty() ? list : list.substr(0, list.size() - 1));
      numbers.push_back(std::to_string(random() % 1'000'000));
      floats.push_back(normal(random));
      decimals.push_back(std::to_string(normal(random)));
      doubles.push_back(normal(random));
      longs.push_back(static_cast<std::int64_t>(random() % 1'000'000));
      ids.push_back(static_cast<std::int64_t>(random() % 32));
      std::vector<std::int64_t> row(random() % 6);
      for (std::int64_t& id : row) id = static_cast<std::int64_t>(random() % 32);
      rows.push_back(std::move(row));
    }
  }

  std::vector<std::string> texts;
  std::vector<std::string> lists;
  std::vector<std::string> numbers;
  std::vector<std::string> decimals;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> longs;
  std::vector<std::int64_t> ids;
  std::vector<std::vector<std::int64_t>> rows;
};

const Inputs& inputs() {
  static const Inputs made;
  return made;
}

void run_features(benchmark::State& state, const f::Step& step, const Column& column) {
  const Features features({step});
  const ColumnBatch batch({{"x", column}});
  for (auto _ : state) benchmark::DoNotOptimize(features(batch));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

template <class Make>
void run_plain(benchmark::State& state, Make make) {
  for (auto _ : state) benchmark::DoNotOptimize(make());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

/// Calls result(value) for each value, as a loop over vectors does.
template <class Values, class Result>
auto plain_map(const Values& values, Result result) {
  return [&values, result] {
    std::vector<decltype(result(values[0]))> results;
    results.reserve(values.size());
    for (const auto& value : values) results.push_back(result(value));
    return results;
  };
}

void BM_hash_buckets_features(benchmark::State& state) {
  run_features(state, f::HashBuckets{.column = "x", .buckets = 1000}, column_of(inputs().texts));
}
void BM_hash_buckets_plain(benchmark::State& state) {
  std::uint64_t buckets = 1000;
  benchmark::DoNotOptimize(buckets);
  run_plain(state, plain_map(inputs().texts, [buckets](const std::string& text) {
              return static_cast<std::int64_t>(fingerprint64(text) % buckets);
            }));
}
BENCHMARK(BM_hash_buckets_features);
BENCHMARK(BM_hash_buckets_plain);

void BM_vocabulary_features(benchmark::State& state) {
  run_features(state, f::Vocabulary{.column = "x", .words = vocabulary()},
               column_of(inputs().texts));
}
void BM_vocabulary_plain(benchmark::State& state) {
  std::unordered_map<std::string, std::int64_t> places;
  for (const std::string& word : vocabulary()) {
    places.emplace(word, static_cast<std::int64_t>(places.size()));
  }
  run_plain(state, plain_map(inputs().texts, [&places](const std::string& text) {
              return places.find(text)->second;
            }));
}
BENCHMARK(BM_vocabulary_features);
BENCHMARK(BM_vocabulary_plain);

void BM_vocabulary_of_numbers_features(benchmark::State& state) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kWords; ++i) words.push_back(std::to_string(i * 7));
  std::vector<std::int64_t> numbers;
  for (const std::int64_t number : inputs().longs) numbers.push_back(number % 10'000 * 7);
  run_features(state, f::Vocabulary{.column = "x", .words = words}, column_of(std::move(numbers)));
}
void BM_vocabulary_of_numbers_plain(benchmark::State& state) {
  std::unordered_map<std::int64_t, std::int64_t> places;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kWords); ++i) places.emplace(i * 7, i);
  std::vector<std::int64_t> numbers;
  for (const std::int64_t number : inputs().longs) numbers.push_back(number % 10'000 * 7);
  run_plain(state, plain_map(numbers, [&places](std::int64_t number) {
              return places.find(number)->second;
            }));
}
BENCHMARK(BM_vocabulary_of_numbers_features);
BENCHMARK(BM_vocabulary_of_numbers_plain);

void BM_split_features(benchmark::State& state) {
  run_features(state, f::Split{.column = "x"}, column_of(inputs().lists));
}
void BM_split_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().lists, [](const std::string& text) {
              std::vector<std::string> parts;
              for (std::size_t at = 0; !text.empty();) {
                const std::size_t end = text.find('|', at);
                parts.push_back(text.substr(at, end - at));
                if (end == text.npos) break;
                at = end + 1;
              }
              return parts;
            }));
}
/// The same into one text and its offsets, as a column has it.
void BM_split_plain_flat(benchmark::State& state) {
  run_plain(state, [] {
    std::pair<std::string, std::vector<std::size_t>> parts;
    std::vector<std::size_t> splits;
    for (const std::string& text : inputs().lists) {
      for (std::size_t at = 0; !text.empty();) {
        const std::size_t end = std::min(text.find('|', at), text.size());
        parts.first.append(text, at, end - at);
        parts.second.push_back(parts.first.size());
        if (end == text.size()) break;
        at = end + 1;
      }
      splits.push_back(parts.second.size());
    }
    benchmark::DoNotOptimize(splits);
    return parts;
  });
}
BENCHMARK(BM_split_features);
BENCHMARK(BM_split_plain);
BENCHMARK(BM_split_plain_flat);

void BM_cast_text_features(benchmark::State& state) {
  run_features(state, f::Cast{.column = "x", .dtype = DType::int64}, column_of(inputs().numbers));
}
void BM_cast_text_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().numbers, [](const std::string& text) {
              std::int64_t number = 0;
              const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
              if (read.ec != std::errc() || read.ptr != text.data() + text.size()) std::abort();
              return number;
            }));
}
BENCHMARK(BM_cast_text_features);
BENCHMARK(BM_cast_text_plain);

void BM_cast_text_to_float_features(benchmark::State& state) {
  run_features(state, f::Cast{.column = "x"}, column_of(inputs().decimals));
}
void BM_cast_text_to_float_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().decimals, [](const std::string& text) {
              float number = 0;
              const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
              if (read.ec != std::errc() || read.ptr != text.data() + text.size()) std::abort();
              return number;
            }));
}
BENCHMARK(BM_cast_text_to_float_features);
BENCHMARK(BM_cast_text_to_float_plain);

void BM_cast_features(benchmark::State& state) {
  run_features(state, f::Cast{.column = "x", .dtype = DType::int32},
               column_of(std::vector(inputs().longs)));
}
void BM_cast_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().longs, [](std::int64_t number) {
              if (!std::in_range<std::int32_t>(number)) std::abort();
              return static_cast<std::int32_t>(number);
            }));
}
BENCHMARK(BM_cast_features);
BENCHMARK(BM_cast_plain);

void BM_cast_to_whole_features(benchmark::State& state) {
  std::vector<double> whole(inputs().longs.begin(), inputs().longs.end());
  run_features(state, f::Cast{.column = "x", .dtype = DType::int64}, column_of(std::move(whole)));
}
void BM_cast_to_whole_plain(benchmark::State& state) {
  const std::vector<double> whole(inputs().longs.begin(), inputs().longs.end());
  run_plain(state, plain_map(whole, [](double number) {
              if (!(number >= -0x1p63 && number < 0x1p63)) std::abort();
              const auto result = static_cast<std::int64_t>(number);
              if (static_cast<double>(result) != number) std::abort();
              return result;
            }));
}
BENCHMARK(BM_cast_to_whole_features);
BENCHMARK(BM_cast_to_whole_plain);

void BM_fill_features(benchmark::State& state) {
  run_features(state, f::Fill{.column = "x"}, column_of(std::vector(inputs().floats)));
}
void BM_fill_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().floats,
                             [](float number) { return number != number ? 0.0F : number; }));
}
BENCHMARK(BM_fill_features);
BENCHMARK(BM_fill_plain);

void BM_clip_features(benchmark::State& state) {
  run_features(state, f::Clip{.column = "x", .min = 0, .max = 30},
               column_of(std::vector(inputs().floats)));
}
void BM_clip_plain(benchmark::State& state) {
  run_plain(state, plain_map(inputs().floats,
                             [](float number) { return std::clamp(number, 0.0F, 30.0F); }));
}
BENCHMARK(BM_clip_features);
BENCHMARK(BM_clip_plain);

/// range(0): the number of boundaries.
std::vector<double> boundaries(benchmark::State& state) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    all.push_back(40.0 * static_cast<double>(i) / static_cast<double>(state.range(0)));
  }
  return all;
}
void BM_bucketise_features(benchmark::State& state) {
  run_features(state, f::Bucketise{.column = "x", .boundaries = boundaries(state)},
               column_of(std::vector(inputs().floats)));
}
void BM_bucketise_plain(benchmark::State& state) {
  const std::vector<double> all = boundaries(state);
  const std::vector<float> edges(all.begin(), all.end());
  run_plain(state, plain_map(inputs().floats, [&edges](float number) {
              const auto above = std::upper_bound(edges.begin(), edges.end(), number);
              return static_cast<std::int64_t>(above - edges.begin());
            }));
}
BENCHMARK(BM_bucketise_features)->Arg(8)->Arg(100);
BENCHMARK(BM_bucketise_plain)->Arg(8)->Arg(100);

void BM_normalise_features(benchmark::State& state) {
  run_features(state, f::Normalise{.column = "x", .mean = {20}, .deviation = {10}},
               column_of(std::vector(inputs().floats)));
}
void BM_normalise_plain(benchmark::State& state) {
  run_plain(state,
            plain_map(inputs().floats, [](float number) { return (number - 20.0F) / 10.0F; }));
}
BENCHMARK(BM_normalise_features);
BENCHMARK(BM_normalise_plain);

void BM_one_hot_features(benchmark::State& state) {
  run_features(state, f::OneHot{.column = "x", .depth = 32}, column_of(std::vector(inputs().ids)));
}
void BM_one_hot_plain(benchmark::State& state) {
  run_plain(state, [] {
    std::vector<float> hot(inputs().ids.size() * 32);
    for (std::size_t i = 0; i < inputs().ids.size(); ++i) {
      const auto id = static_cast<std::size_t>(inputs().ids[i]);
      if (id >= 32) std::abort();
      hot[i * 32 + id] = 1;
    }
    return hot;
  });
}
BENCHMARK(BM_one_hot_features);
BENCHMARK(BM_one_hot_plain);

void BM_multi_hot_features(benchmark::State& state) {
  run_features(state, f::MultiHot{.column = "x", .depth = 32}, ragged_column_of(inputs().rows));
}
void BM_multi_hot_plain(benchmark::State& state) {
  run_plain(state, [] {
    std::vector<float> hot(inputs().rows.size() * 32);
    for (std::size_t row = 0; row < inputs().rows.size(); ++row) {
      for (const std::int64_t number : inputs().rows[row]) {
        const auto id = static_cast<std::size_t>(number);
        if (id >= 32) std::abort();
        hot[row * 32 + id] = 1;
      }
    }
    return hot;
  });
}
BENCHMARK(BM_multi_hot_features);
BENCHMARK(BM_multi_hot_plain);

}  // namespace
}  // namespace infeed

BENCHMARK_MAIN();
