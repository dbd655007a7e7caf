#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/detail/seeds.h>

#include "engine/seeds/philox_fill.h"
#include "engine/seeds/run_seeds.h"
#include "engine/seeds/signature.h"
#include "seeded_random.h"
#include "shuffle/shuffle.h"

namespace infeed::test {
namespace {

using Words = std::vector<std::uint32_t>;

Words first_words(Philox generator, std::size_t count) {
  Words words(count);
  std::generate(words.begin(), words.end(), std::ref(generator));
  return words;
}

TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(first_words(Philox(0, 0), 4), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  // Random123's vectors for other keys and counters.
  EXPECT_EQ(Philox(0xffffffffffffffff, 0xffffffffffffffff).block(0xffffffffffffffff),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x0370734413198a2e).block(0x85a308d3243f6a88),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CanBeEnteredAnywhere) {
  const Philox generator(123, 456);
  const Words words = first_words(generator, 1000);
  SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    const std::size_t at = random.below(900);
    Philox there = generator;
    there.seek(at);
    EXPECT_EQ(there.position(), at);
    EXPECT_EQ(generator.at(at), words[at]);
    EXPECT_EQ(first_words(there, 50),
              Words(words.begin() + std::ptrdiff_t(at), words.begin() + std::ptrdiff_t(at) + 50));
  }
}

TEST(Philox, ManyAtOnceAreTheSame) {
  SeededRandom random;
  for (int round = 0; round < 50; ++round) {
    const Philox generator(random(), random());
    // Also where the low half of the counter overflows.
    const std::uint64_t begin = round % 2 == 0 ? 256 * random.below(1000)
                                               : (std::uint64_t{1} << 34) - 256 * random.below(3);
    detail::WordStream stream(generator);
    stream.seek(begin + random.below(200));
    stream.seek(begin);
    for (std::uint64_t i = 0; i < 600; ++i) ASSERT_EQ(stream(), generator.at(begin + i)) << i;
  }
}

/// Eight blocks at once must not cross a multiple of 2^32.
TEST(Philox, ManyAtOnceAreTheSameAroundEveryOverflow) {
  const Philox generator(123, 456);
  for (std::uint64_t before = 0; before <= 20; ++before) {
    const std::uint64_t begin = 4 * ((std::uint64_t{1} << 32) - before);
    for (const std::size_t size : {4, 28, 32, 36, 64, 100}) {
      Words words(size);
      detail::philox_fill(generator, begin, words);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(words[i], generator.at(begin + i)) << i;
    }
  }
}

TEST(Philox, FastModuloIsModulo) {
  SeededRandom random;
  for (int round = 0; round < 2000; ++round) {
    const auto divisor = static_cast<std::uint32_t>(1 + (random() & 0xffffffff) %
                                                            ((1ULL << (1 + random.below(32))) - 1));
    const detail::FastModulo modulo(divisor);
    for (const std::uint64_t x :
         {std::uint64_t{0}, std::uint64_t{divisor} - 1, std::uint64_t{divisor},
          std::uint64_t{0xffffffff}, random() & 0xffffffff}) {
      const auto word = static_cast<std::uint32_t>(x);
      ASSERT_EQ(modulo(word), word % divisor) << word << " mod " << divisor;
    }
  }
}

void expect_seeds(const Seeds& found, std::uint64_t seed, std::uint64_t seed2) {
  EXPECT_EQ(found.seed, seed);
  EXPECT_EQ(found.seed2, seed2);
  EXPECT_FALSE(found.drawn);
  EXPECT_FALSE(found.inner);
}

/// The numbers are TensorFlow's.
TEST(Seeds, OfTheOperationAndTheProgramAreCombined) {
  constexpr std::uint64_t kModulus = 2'147'483'647;
  constexpr std::uint64_t kDefault = 87'654'321;
  expect_seeds(detail::choose_seeds(42, std::nullopt, 5), kDefault, 42);
  expect_seeds(detail::choose_seeds(42, 7, 5), 7, 42);
  expect_seeds(detail::choose_seeds(kModulus + 2, kModulus + 3, 0), 3, 2);
  expect_seeds(detail::choose_seeds(0, 7, 0), 7, 0);
  expect_seeds(detail::choose_seeds(7, 0, 0), 0, 7);
  expect_seeds(detail::choose_seeds(0, 0, 0), 0, kModulus);
  expect_seeds(detail::choose_seeds(kModulus, kModulus, 0), 0, kModulus);
  // Stages differ by how many that draw stand before them.
  expect_seeds(detail::choose_seeds(std::nullopt, 7, 0), 7, 0);
  expect_seeds(detail::choose_seeds(std::nullopt, 7, 1), 7, 2'654'435'761 - kModulus);
  expect_seeds(detail::choose_seeds(std::nullopt, 7, 2), 7, 2 * 2'654'435'761 - 2 * kModulus);
}

TEST(Seeds, ThatNobodyGivesAreDrawn) {
  std::uint64_t seen = 0;
  for (int i = 0; i < 8; ++i) {
    const Seeds seeds = detail::choose_seeds(std::nullopt, std::nullopt, 0);
    EXPECT_TRUE(seeds.drawn);
    EXPECT_EQ(seeds.seed & 1, 1U) << "never 0";
    seen |= seeds.seed & seeds.seed2 & random_seed();
  }
  EXPECT_NE(seen >> 32, 0U) << "all 64 bits are drawn";
  EXPECT_NE(seen << 32, 0U);
  expect_seeds(given_or_random(7), 7, 0);
  EXPECT_TRUE(given_or_random(std::nullopt).drawn);
  EXPECT_NE(given_or_random(std::nullopt).seed, given_or_random(std::nullopt).seed);
}

TEST(Seeds, GiveEachPassAGenerator) {
  const Seeds seeds{.seed = 3, .seed2 = 4};
  const Philox epochs(3, 4);
  const auto first_of = [](Philox generator) { return generator(); };
  EXPECT_EQ(first_of(detail::pass_generator(seeds, 5, true)),
            first_of(Philox(epochs.at(10), epochs.at(11))));
  EXPECT_EQ(first_of(detail::pass_generator(seeds, 5, false)), first_of(epochs));
}

TEST(Seeds, AreCountedInFrontOfAStage) {
  const auto source = range(10);
  const auto shuffled = source | shuffle({.buffer = 2, .seed = 1});
  const auto inner = [](std::int64_t x) { return range(x); };
  EXPECT_EQ(detail::count_drawing(*source.node()), 0U);
  EXPECT_EQ(detail::count_drawing(*shuffled.node()), 1U);
  EXPECT_EQ(detail::count_drawing(*(source | flat_map(inner)).node()), 0U)
      << "what its inner datasets draw is another matter";
  EXPECT_EQ(detail::count_drawing(*zip(shuffled, shuffled | shuffle({.buffer = 2})).node()), 3U);
}

TEST(Seeds, StandInFrontOfTheOptionsOfASignature) {
  EXPECT_EQ(detail::with_seed("map(version=2)", 7), "map(seed=7, version=2)");
  EXPECT_EQ(detail::with_seed("map", 7), "map(seed=7)");
}

TEST(RunSeeds, AreTheDatasetsUnlessOthersAreAdopted) {
  const auto dataset = range(10) | shuffle({.buffer = 2, .seed = 5});
  const Node& node = *dataset.node();
  const Node& source = node.input();
  const Seeds own = *node.seeds();
  detail::RunSeeds seeds;
  EXPECT_EQ(seeds.of(node).seed2, 5U);
  EXPECT_EQ(seeds.of(source).seed, 0U);
  EXPECT_FALSE(seeds.are_others());
  seeds.adopt({{&node, own}});
  EXPECT_FALSE(seeds.are_others());
  seeds.adopt({{&node, {own.seed, 6}}});
  EXPECT_TRUE(seeds.are_others());
  seeds.adopt({{&node, {own.seed + 1, 5}}});
  EXPECT_TRUE(seeds.are_others());
  EXPECT_EQ(seeds.of(node).seed, own.seed + 1);
  EXPECT_EQ(seeds.for_checkpoint().size(), 1U);
  EXPECT_TRUE(seeds.inner_draws(node, {}).nodes.empty());
  seeds.note_inner_draws(source);
  EXPECT_EQ(seeds.for_checkpoint().size(), 2U);
  EXPECT_EQ(seeds.inner_draws(node, {}).nodes, std::vector<const Node*>{&source});
  EXPECT_FALSE(seeds.inner_draws(node, {}).by_outermost);
  EXPECT_TRUE(seeds.inner_draws(node, {.outermost = &source}).by_outermost);
  EXPECT_FALSE(seeds.inner_draws(node, {.outermost = &node}).by_outermost);
  detail::RunSeeds reader;
  reader.note_inner_draws({.nodes = {&source}}, {});
  EXPECT_EQ(reader.for_checkpoint().count(&source), 1U);
  reader.note_inner_draws({.nodes = {}, .by_outermost = true}, {.outermost = &node});
  EXPECT_EQ(reader.for_checkpoint().count(&node), 1U);
}

TEST(Rng, IsAFunctionOfSeedEpochAndPosition) {
  EXPECT_EQ(Rng(1, 2, 3)(), Rng(1, 2, 3)());
  EXPECT_NE(Rng(1, 2, 3)(), Rng(1, 2, 4)());
  EXPECT_NE(Rng(1, 2, 3)(), Rng(1, 3, 3)());
  EXPECT_NE(Rng(1, 2, 3)(), Rng(2, 2, 3)());
}

TEST(Rng, StaysWithinItsBounds) {
  std::array<int, 5> seen{};
  int heads = 0;
  double sum = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(7, 0, static_cast<std::uint64_t>(i));
    ++seen.at(rng.below(5));
    const float x = rng.uniform(-1, 3);
    EXPECT_TRUE(x >= -1 && x < 3);
    sum += rng.uniform();
    heads += rng.chance(0.25F) ? 1 : 0;
  }
  for (const int count : seen) EXPECT_NEAR(count, kDraws / 5, 300);
  EXPECT_NEAR(heads, kDraws / 4, 400);
  EXPECT_NEAR(sum / kDraws, 0.5, 0.02);
}

TEST(Rng, MakesEachNumberOfOneWord) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  Philox words(5 ^ (2 * kGolden), 3);
  Rng numbers(5, 2, 3);
  EXPECT_EQ(numbers(), words());
  EXPECT_EQ(numbers.below(1000), (std::uint64_t{words()} * 1000) >> 32);
  const auto next_share = [&words] { return static_cast<float>(words() >> 8) / 0x1p24F; };
  EXPECT_EQ(numbers.uniform(), next_share());
  EXPECT_EQ(numbers.uniform(1, 3), 1 + 2 * next_share());
  const float share = next_share();
  Rng same = numbers;
  EXPECT_FALSE(numbers.chance(share));
  EXPECT_TRUE(same.chance(std::nextafter(share, 1.0F)));
  EXPECT_EQ(Rng::min(), 0U);
  EXPECT_EQ(Rng::max(), 0xffffffffU);
}

TEST(Philox, BeginsWithTheFirstWord) {
  Philox without_seeds;
  EXPECT_EQ(without_seeds.position(), 0U);
  EXPECT_EQ(without_seeds(), Philox(0, 0).at(0));
  EXPECT_EQ(without_seeds.position(), 1U);
  EXPECT_EQ(Philox::min(), 0U);
  EXPECT_EQ(Philox::max(), 0xffffffffU);
  const Philox generator(123, 456);
  for (const std::uint64_t pair : {0, 1, 2, 7}) {
    EXPECT_EQ(generator.word_pair(pair),
              std::uint64_t{generator.at(2 * pair + 1)} << 32 | generator.at(2 * pair));
  }
}

}  // namespace
}  // namespace infeed::test
