#pragma once

#include <chrono>
#include <fmt/format.h>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <infeed/infeed.h>

#include "pipeline/drawn_whole/build.h"

/// add_generic() for one kind of elements. Each kind is instantiated in its own file, since they
/// take long to compile.
namespace infeed::test {
namespace generic {

/// Works for a few microseconds on some elements, so that threads overtake each other.
inline void work(std::int64_t microseconds, std::uint64_t content) {
  if (microseconds == 0 || content % 5 != 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Returns an element that depends on both; for kinds that can't be changed, the element itself.
template <class T>
T altered(T element, std::uint64_t by) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(element) * 31 + by) % 1'000'003);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (element.size() < 4'000'000) element += static_cast<char>('A' + by % 26);
    return element;
  } else if constexpr (std::is_same_v<T, Sentence>) {
    element.number = altered(element.number, by);
    return element;
  } else {
    return element;
  }
}

[[noreturn]] inline void refuse(const char* who, std::uint64_t content) {
  throw std::runtime_error(fmt::format("{} refuses {:x}", who, content));
}

struct Special {
  explicit Special(const Step& step) : modulus(step.at("modulus")), residue(step.at("residue")) {}
  template <class T>
  bool operator()(const T& element) const {
    return is_special(element, modulus, residue);
  }
  std::int64_t modulus;
  std::int64_t residue;
};

inline MapOptions map_options(const Step& step, const Surroundings& surroundings) {
  MapOptions options{.parallelism = surroundings.parallelism(step)};
  options.ordered = step.get("ordered", 1) != 0 || surroundings.is_serial;
  options.seed = seed_of(step);
  if (step.is_set("retries")) options.guard.retries = 2;
  return options;
}

template <class T>
Dataset<T> add_map(const Dataset<T>& input, const Step& step, const Surroundings& surroundings) {
  const MapOptions options = map_options(step, surroundings);
  const std::int64_t work_us = surroundings.is_serial ? 0 : step.get("work_us", 0);
  if (step.op == "map") {
    return input | map(
                       [work_us, by = step.count_at("by")](T element) {
                         if (work_us != 0) work(work_us, content_of(element));
                         return altered(std::move(element), by);
                       },
                       options);
  }
  if (step.op == "map_random") {
    return input | map(
                       [refused = step.get("refused", 0)](T element, Rng& rng) {
                         const std::uint32_t drawn = rng.below(1000);
                         if (drawn < static_cast<std::uint32_t>(refused)) refuse("chance", drawn);
                         return altered(std::move(element), drawn);
                       },
                       options);
  }
  return input | map(
                     [special = Special(step), work_us](T element) {
                       if (work_us != 0) work(work_us, content_of(element));
                       if (special(element)) refuse("map", content_of(element));
                       return element;
                     },
                     options);
}

template <class T>
Dataset<T> add_elementwise(const Dataset<T>& input, const Step& step,
                           const Surroundings& surroundings) {
  const std::string& op = step.op;
  if (op == "map" || op == "map_random" || op == "map_fails") {
    return add_map(input, step, surroundings);
  }
  if (op == "filter") {
    return input |
           filter([special = Special(step)](const T& element) { return !special(element); });
  }
  if (op == "filter_fails") {
    return input | filter([special = Special(step)](const T& element) {
             if (special(element)) refuse("filter", content_of(element));
             return content_of(element) % 4 != 0;
           });
  }
  if (op == "take_while") {
    return input |
           take_while([special = Special(step)](const T& element) { return !special(element); });
  }
  if (op == "scan") {
    return input | scan(std::uint64_t{0}, [](std::uint64_t state, T element) {
             state = (state * 31 + content_of(element)) % 1'000'003;
             if (state % 31 == 7) refuse("scan", state);
             return std::pair(state, altered(std::move(element), state));
           });
  }
  if (op == "enumerate") {
    return input | enumerate(step.at("start")) | map([](std::int64_t number, T element) {
             if (number % 97 == 13) refuse("number", static_cast<std::uint64_t>(number));
             return altered(std::move(element), static_cast<std::uint64_t>(number));
           });
  }
  if (op == "rejection_resample") {
    ResampleOptions options{.target = {0.5, 0.3, 0.2}};
    if (step.is_set("initial")) options.initial = {0.34, 0.33, 0.33};
    options.seed = seed_of(step);
    return input |
           rejection_resample(
               [](const T& element) { return static_cast<std::int64_t>(content_of(element) % 3); },
               options);
  }
  if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string>) {
    if (op == "unique") return input | unique();
  }
  throw std::logic_error("no such stage, or not of these elements: " + op);
}

template <class T>
Dataset<T> add_cache(const Dataset<T>& input, const Step& step, const Surroundings& surroundings) {
  if (step.op == "cache") return input | cache();
  if (step.op == "optional_cache") return input | optional_cache();
  const std::string path =
      fmt::format("{}/{}-{}", surroundings.cache_folder, step.op, step.at("id"));
  const auto packing = step.is_set("packing") ? Compression::gzip : Compression::none;
  if (step.op == "snapshot") {
    return input |
           snapshot({.path = path, .shard_bytes = step.at("shard_bytes"), .compression = packing});
  }
  return input | cache(FileCacheOptions{
                     .path = path, .shard_bytes = step.at("shard_bytes"), .compression = packing});
}

template <class T>
Dataset<T> add_windows(const Dataset<T>& input, const Step& step) {
  if (step.op == "window_unbatch") {
    return input |
           window({.size = step.at("size"),
                   .shift = step.at("shift"),
                   .stride = step.at("stride"),
                   .drop_remainder = step.is_set("drop_remainder")}) |
           unbatch();
  }
  if (step.op == "batch_unbatch") {
    return input | batch(step.at("size"), {.drop_remainder = step.is_set("drop_remainder")}) |
           unbatch();
  }
  const auto key = [keys = step.count_at("keys")](const T& element) {
    return static_cast<std::int64_t>(content_of(element) % keys);
  };
  const auto reduce = [](std::int64_t, std::vector<T> rows) { return slices(std::move(rows)); };
  return input | group_by_window(key, reduce, step.at("size"));
}

/// Returns the dataset of an outer element: a few elements made from it.
template <class T>
Dataset<T> inner_source(const T& outer, std::int64_t modulus) {
  const auto count =
      static_cast<std::int64_t>(content_of(outer) % static_cast<std::uint64_t>(modulus));
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return range(10 * outer, 10 * outer + count);
  } else {
    std::vector<T> rows;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(altered(outer, static_cast<std::uint64_t>(i)));
    }
    return slices(std::move(rows));
  }
}

template <class T>
Dataset<T> add_nested(const Dataset<T>& input, const Step& step, const Surroundings& surroundings) {
  const auto inner = [plan = step.inputs.front(), surroundings](const T& outer) {
    const Step& source = plan.steps.front();
    if (is_special(outer, 29, source.get("refused", -1))) refuse("inner", content_of(outer));
    AnyDataset dataset = extend(inner_source(outer, source.at("modulus")), plan, surroundings);
    return std::get<Dataset<T>>(std::move(dataset));
  };
  const bool by_position = step.is_set("seed_by_position");
  if (step.op == "flat_map") return input | flat_map(inner, {.seed_by_position = by_position});
  InterleaveOptions options{.cycle_length = step.at("cycle_length"),
                            .block_length = step.at("block_length"),
                            .parallelism = surroundings.parallelism(step)};
  options.ordered = step.get("ordered", 1) != 0 || surroundings.is_serial;
  options.seed_by_position = by_position;
  return input | interleave(inner, options);
}

template <class T>
Dataset<T> add_combined(const Dataset<T>& input, const Step& step,
                        const Surroundings& surroundings) {
  std::vector<Dataset<T>> all = {input};
  for (const Plan& plan : step.inputs) all.push_back(build_of<T>(plan, surroundings));
  if (step.op == "concatenate") return input | concatenate(all[1]);
  if (step.op == "zip") {
    return zip(input, all[1]) | map([](T first, T second) {
             const std::uint64_t content = content_of(second);
             return content % 2 == 0 ? altered(std::move(first), content)
                                     : altered(std::move(second), content_of(first));
           });
  }
  if (step.op == "sample") {
    SampleOptions options;
    options.seed = seed_of(step);
    options.stop_on_empty_dataset = step.is_set("stops");
    options.reshuffle_each_iteration = step.is_set("reshuffle");
    if (step.is_set("weighted")) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        options.weights.push_back(1.0 + static_cast<double>(i));
      }
    }
    if (step.is_set("sized")) {
      return sample_from_datasets(all, options, [](const T& x) { return content_of(x) % 50; });
    }
    return sample_from_datasets(all, options);
  }
  const auto choices = random_integers({.seed = step.count_at("choice_seed")}) |
                       take(step.at("choices")) |
                       map([count = static_cast<std::int64_t>(all.size())](std::int64_t x) {
                         return x % 41 == 0 ? count : x % count;
                       });
  return choose_from_datasets(all, choices, {.stop_on_empty_dataset = step.is_set("stops")});
}

/// Leaves something behind for each element: only for plans that people write, to see that it is
/// found.
template <class T>
Dataset<T> add_leak(const Dataset<T>& input, const Step& step) {
  return input | map([bytes = step.get("bytes", 0), files = step.get("files", 0)](T element) {
           static std::mutex mutex;
           static std::list<std::string> left;  // so that a leak checker still sees it
           const std::lock_guard lock(mutex);
           left.emplace_back(static_cast<std::size_t>(bytes), 'x');
           for (std::int64_t i = 0; i < files; ++i) ::dup(STDERR_FILENO);
           return element;
         });
}

template <class T>
Dataset<T> add_stream(const Dataset<T>& input, const Step& step, const Surroundings& surroundings) {
  const std::string& op = step.op;
  if (op == "leak") return add_leak(input, step);
  if (op == "take") return input | take(step.at("count"));
  if (op == "skip") return input | skip(step.at("count"));
  if (op == "repeat") return input | repeat(step.at("count"));
  if (op == "prefetch") return input | prefetch(surroundings.is_serial ? 0 : step.at("depth"));
  if (op == "shard") {
    return input | shard({.count = step.at("count"), .index = step.at("index")});
  }
  if (op == "skip_errors") {
    SkipErrorsOptions options;
    if (step.get("count_max", -1) >= 0) options.count_max = step.at("count_max");
    return input | skip_errors(options);
  }
  if (op == "shuffle") {
    return input | shuffle({.buffer = step.at("buffer"),
                            .seed = seed_of(step),
                            .reshuffle_each_iteration = step.is_set("reshuffle")});
  }
  if (op == "global_shuffle") {
    return input | global_shuffle({.seed = seed_of(step),
                                   .reshuffle_each_iteration = step.is_set("reshuffle")});
  }
  if (op == "assert_cardinality") {
    const Cardinality known = input.cardinality();
    return known.is_finite() ? input | assert_cardinality(static_cast<std::int64_t>(known.count()))
                             : input | assert_cardinality(step.at("count"));
  }
  return add_elementwise(input, step, surroundings);
}

}  // namespace generic

template <class T>
Dataset<T> add_generic(const Dataset<T>& input, const Step& step,
                       const Surroundings& surroundings) {
  const std::string& op = step.op;
  if (op == "cache" || op == "optional_cache" || op == "file_cache" || op == "snapshot") {
    return generic::add_cache(input, step, surroundings);
  }
  if (op == "window_unbatch" || op == "batch_unbatch" || op == "group_by_window") {
    return generic::add_windows(input, step);
  }
  if (op == "flat_map" || op == "interleave") return generic::add_nested(input, step, surroundings);
  if (op == "concatenate" || op == "zip" || op == "sample" || op == "choose") {
    return generic::add_combined(input, step, surroundings);
  }
  return generic::add_stream(input, step, surroundings);
}

}  // namespace infeed::test
