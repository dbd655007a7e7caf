#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include <infeed/pipeline/philox.h>

#include "engine/philox_fill.h"
#include "pipeline/suite/random_seed.h"
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
  RandomSource random;
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
  RandomSource random;
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

TEST(Philox, FastModuloIsModulo) {
  RandomSource random;
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

}  // namespace
}  // namespace infeed::test
