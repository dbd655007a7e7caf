#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <infeed/infeed.h>

#include "thrown_error.h"

namespace infeed {
namespace {

struct Sample {
  std::array<float, 3> image;
  std::string text;
  std::int64_t label;
};

void write_sample(const std::int64_t& x, const Row<Sample>& row) {
  if (x % 10 == 7) throw std::runtime_error("no sevens");
  row.column(&Sample::image) = {static_cast<float>(x), 0.5F, 1};
  row.column(&Sample::text) = std::string(40, static_cast<char>('a' + x % 26));
  row.column(&Sample::label) = 2 * x;
}

std::string error_text(Iterator<Batch<Sample>>& iterator) {
  return error_of([&] { iterator.next(); }).what();
}

TEST(BatchInto, rows_land_in_their_columns) {
  const auto batches = range(5) | batch_into<Sample>(3, write_sample);
  EXPECT_EQ(batches.cardinality(), Cardinality::finite(2));
  auto iterator = batches.iterate();
  const Batch<Sample> first = *iterator.next();
  EXPECT_THAT(first.column(&Sample::label), ElementsAre(0, 2, 4));
  EXPECT_THAT(first.column(&Sample::text),
              ElementsAre(std::string(40, 'a'), std::string(40, 'b'), std::string(40, 'c')));
  EXPECT_EQ(first.column(&Sample::image)[2][0], 2.0F);
  EXPECT_EQ(iterator.next()->size(), 2U);
  EXPECT_FALSE(iterator.next());
}

/// Rows 0 to 3 of one value each, in batches of 3.
template <class Out, class Make>
std::vector<Out> values_of(const Make& make) {
  const auto write = [make](const std::int64_t& x, const Row<Out>& row) { row.value() = make(x); };
  std::vector<Out> values;
  for (const Batch<Out>& batch : (range(4) | batch_into<Out>(3, write)).iterate()) {
    values.insert(values.end(), batch.values().begin(), batch.values().end());
  }
  return values;
}

TEST(BatchInto, a_row_may_be_one_value) {
  EXPECT_THAT(values_of<std::int64_t>([](std::int64_t x) { return 2 * x; }),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(values_of<float>([](std::int64_t x) { return static_cast<float>(x) / 2; }),
              ElementsAre(0, 0.5F, 1, 1.5F));
  EXPECT_THAT(values_of<std::string>([](std::int64_t x) { return std::to_string(x); }),
              ElementsAre("0", "1", "2", "3"));
  using Pixels = std::array<std::uint8_t, 2>;
  EXPECT_THAT(values_of<Pixels>([](std::int64_t x) {
                return Pixels{static_cast<std::uint8_t>(x), 9};
              }),
              ElementsAre(Pixels{0, 9}, Pixels{1, 9}, Pixels{2, 9}, Pixels{3, 9}));
}

TEST(BatchInto, a_row_may_draw_one_value) {
  const auto draw = [](const std::int64_t&, const Row<std::uint32_t>& row, Rng& rng) {
    row.value() = rng();
  };
  const auto batches = range(4) | batch_into<std::uint32_t>(4, draw, {.seed = 7});
  const auto mapped = range(4) | map([](std::int64_t, Rng& rng) { return rng(); }, {.seed = 7});
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t number : mapped.iterate()) expected.push_back(number);
  EXPECT_THAT(batches.iterate().next()->values(), ::testing::ElementsAreArray(expected));
}

TEST(BatchInto, a_row_may_be_a_tuple) {
  const auto write = [](const std::int64_t& x,
                        const Row<std::tuple<std::int64_t, std::string>>& row) {
    row.column<0>() = x;
    row.column<1>() = std::to_string(10 * x);
  };
  const auto batches = range(3) | batch_into<std::tuple<std::int64_t, std::string>>(3, write);
  const auto batch = *batches.iterate().next();
  EXPECT_THAT(batch.column<0>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(batch.column<1>(), ElementsAre("0", "10", "20"));
}

TEST(BatchInto, failed_rows_are_left_out_and_told_of_before_their_batch) {
  auto iterator = (range(20) | batch_into<Sample>(10, write_sample)).iterate();
  EXPECT_THAT(error_text(iterator), HasSubstr("no sevens"));
  EXPECT_EQ(iterator.next()->size(), 9U);
  EXPECT_THAT(error_text(iterator), HasSubstr("no sevens"));
  const Batch<Sample> second = *iterator.next();
  EXPECT_THAT(second.column(&Sample::label), ElementsAre(20, 22, 24, 26, 28, 30, 32, 36, 38));
  EXPECT_FALSE(iterator.next());
}

TEST(BatchInto, a_batch_without_a_good_row_is_one_error_that_counts_them) {
  const auto fails = [](const std::int64_t&, const Row<Sample>&) {
    throw std::runtime_error("never");
  };
  auto iterator = (range(3) | batch_into<Sample>(3, fails)).iterate();
  EXPECT_THAT(error_text(iterator),
              HasSubstr("3 of 3 rows of a batch failed, the first with: never"));
  EXPECT_FALSE(iterator.next());
}

TEST(BatchInto, the_same_on_every_executor_and_after_resume_at_every_step) {
  for (const std::int64_t count : {0, 1, 5, 64}) {
    const auto batches = range(count) | batch_into<Sample>(4, write_sample, {.parallelism = 3});
    const auto drain = [](Iterator<Batch<Sample>>& iterator) {
      std::vector<std::string> seen;
      while (true) {
        try {
          const auto batch = iterator.next();
          if (!batch) return seen;
          for (const std::int64_t label : batch->column(&Sample::label))
            seen.push_back(std::to_string(label));
        } catch (const Error& error) {
          seen.emplace_back(error.what());
        }
      }
    };
    auto inline_run = batches.iterate({.executor = Executor::inline_()});
    const std::vector<std::string> expected = drain(inline_run);
    auto threads_run = batches.iterate({.executor = Executor::threads(2)});
    EXPECT_EQ(drain(threads_run), expected);
    const std::uint64_t steps = inline_run.position();
    for (std::uint64_t step = 0; step <= steps; ++step) {
      auto before = batches.iterate({.executor = Executor::threads(2)});
      std::vector<std::string> seen;
      while (before.position() < step) {
        try {
          const auto batch = before.next();
          for (const std::int64_t label : batch->column(&Sample::label))
            seen.push_back(std::to_string(label));
        } catch (const Error& error) {
          seen.emplace_back(error.what());
        }
      }
      auto after =
          batches.iterate({.resume = Checkpoint::from_text(before.checkpoint().to_text())});
      for (std::string& rest : drain(after)) seen.push_back(std::move(rest));
      EXPECT_EQ(seen, expected) << "resumed at " << step << " of " << count;
    }
  }
}

std::vector<std::int64_t> labels_of(Iterator<Batch<Sample>>& iterator) {
  std::vector<std::int64_t> labels;
  while (const auto batch = iterator.next()) {
    for (const std::int64_t label : batch->column(&Sample::label)) labels.push_back(label);
  }
  return labels;
}

void draw_label(const std::int64_t&, const Row<Sample>& row, Rng& rng) {
  row.column(&Sample::label) = static_cast<std::int64_t>(rng() % 1000);
}

TEST(BatchInto, rows_draw_what_map_draws_for_the_same_positions) {
  const auto draw = [](std::int64_t, Rng& rng) { return static_cast<std::int64_t>(rng() % 1000); };
  const auto of_shard = [&](std::int64_t shards, std::int64_t index) {
    return range(50) | repeat(2) | shard({.count = shards, .index = index});
  };
  for (const std::int64_t shards : {1, 3}) {
    for (std::int64_t index = 0; index < shards; ++index) {
      std::vector<std::int64_t> expected;
      for (const std::int64_t label :
           (of_shard(shards, index) | map(draw, {.seed = 7})).iterate()) {
        expected.push_back(label);
      }
      for (const int threads : {1, 3}) {
        // Described anew each time: a second iteration of a dataset is its next epoch.
        const auto batches = [&] {
          return of_shard(shards, index) |
                 batch_into<Sample>(4, draw_label, {.parallelism = threads, .seed = 7});
        };
        auto all = batches().iterate();
        EXPECT_EQ(labels_of(all), expected) << threads << " threads";
        auto before = batches().iterate();
        before.next();
        before.next();
        auto after =
            batches().iterate({.resume = Checkpoint::from_text(before.checkpoint().to_text())});
        EXPECT_EQ(labels_of(after), std::vector(expected.begin() + 8, expected.end()));
      }
    }
  }
}

TEST(ParseBatch, examples_become_columns_whatever_the_order_of_the_schema) {
  struct Pair {
    std::int64_t number;
    std::string name;
  };
  const auto schema =
      ExampleSchema<Pair>().feature("name", &Pair::name).feature("number", &Pair::number);
  std::vector<Record> records;
  for (std::int64_t i = 0; i < 5; ++i) {
    records.emplace_back(schema.encode({.number = i, .name = "n" + std::to_string(i)}));
  }
  records.emplace_back("damaged");
  auto iterator = (slices(records) | parse_batch(schema, 4)).iterate();
  const Batch<Pair> first = *iterator.next();
  EXPECT_THAT(first.column(&Pair::number), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(first.column(&Pair::name), ElementsAre("n0", "n1", "n2", "n3"));
  EXPECT_THROW(iterator.next(), Error);
  EXPECT_EQ(iterator.next()->size(), 1U);
  EXPECT_FALSE(iterator.next());
}

TEST(ParseBatch, a_member_without_a_feature_is_refused) {
  struct Pair {
    std::int64_t number;
    std::string name;
  };
  const auto schema = ExampleSchema<Pair>().feature("name", &Pair::name);
  const Error error =
      error_of([&] { (void)(slices(std::vector<Record>{}) | parse_batch(schema, 4)); });
  EXPECT_THAT(error.what(), HasSubstr("member 0 of"));
  EXPECT_THAT(error.what(), HasSubstr("has 0 features in the schema; it needs exactly one"));
}

struct Drawn {
  std::int64_t element;
  std::uint32_t number;
};

void write_drawn(const std::int64_t& x, const Row<Drawn>& row, Rng& rng) {
  if (x % 10 == 7) throw std::runtime_error("no sevens");
  row.column(&Drawn::element) = x;
  row.column(&Drawn::number) = rng();
}

/// Returns "3:17 5:99", an error's message, or "end".
std::string next_drawn(Iterator<Batch<Drawn>>& iterator) {
  try {
    const auto batch = iterator.next();
    if (!batch) return "end";
    std::string text;
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const Drawn row = batch->row(i);
      text += std::to_string(row.element) + ":" + std::to_string(row.number) + " ";
    }
    return text;
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(BatchInto, numbers_are_those_of_map_at_any_thread_count_and_after_resume) {
  // Errors of the input have positions, too.
  const auto input = range(40) | map([](std::int64_t x) {
                       if (x % 10 == 3) throw std::runtime_error("no threes");
                       return x;
                     });
  const auto drawn = [&](Count parallelism) {
    return input | batch_into<Drawn>(4, write_drawn, {.parallelism = parallelism, .seed = 5});
  };
  std::vector<std::string> expected;
  auto serial = drawn(1).iterate();
  do expected.push_back(next_drawn(serial));
  while (expected.back() != "end");
  auto mapped =
      (range(40) | map([](std::int64_t, Rng& rng) { return rng(); }, {.seed = 5})).iterate();
  std::vector<std::uint32_t> numbers;
  while (const auto number = mapped.next()) numbers.push_back(*number);
  EXPECT_THAT(expected, Contains(HasSubstr("4:" + std::to_string(numbers[4]) + " ")));
  EXPECT_THAT(expected, Contains(HasSubstr("39:" + std::to_string(numbers[39]) + " ")));
  auto parallel = drawn(3).iterate();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(next_drawn(parallel), expected[i]) << i;
    auto resumed = drawn(2).iterate({.resume = parallel.checkpoint()});
    EXPECT_EQ(next_drawn(resumed), expected[std::min(i + 1, expected.size() - 1)]) << i;
  }
}

TEST(BatchInto, a_seed_that_nobody_gave_goes_with_the_checkpoint) {
  const auto describe = [] { return range(40) | batch_into<Drawn>(4, write_drawn) | repeat(2); };
  auto first = describe().iterate();
  next_drawn(first);
  const Checkpoint checkpoint = first.checkpoint();
  EXPECT_THAT(checkpoint.to_text(), HasSubstr("stage batch_into(seed="));
  auto resumed = describe().iterate({.resume = checkpoint});
  for (int i = 0; i < 24; ++i) EXPECT_EQ(next_drawn(resumed), next_drawn(first)) << i;
  auto passes = (range(4) | batch_into<Drawn>(4, write_drawn) | repeat(2)).iterate();
  EXPECT_NE(next_drawn(passes), next_drawn(passes)) << "each pass has other numbers";
}

TEST(BatchInto, shards_draw_what_one_host_draws) {
  const auto on = [](const auto& input) {
    return (input | batch_into<Drawn>(1, write_drawn, {.seed = 5})).iterate();
  };
  auto all = on(range(7));
  auto even = on(range(7) | shard({.count = 2, .index = 0}));
  auto odd = on(range(7) | shard({.count = 2, .index = 1}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(next_drawn(i % 2 == 0 ? even : odd), next_drawn(all)) << i;
}

}  // namespace
}  // namespace infeed
