#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

// Printed by TensorFlow 2.21: tf.data.Dataset.random(seed=42), and with rerandomize_each_iteration.
const Stream kSeed42 = numbers({2985944072, 4132877644, 929418493, 249609589, 146598941, 4149265688,
                                1024970628, 881762723, 917178705});
const Stream kSeed42Passes = numbers(
    {1632911145, 3351202991, 521718116, 340051048, 978081363, 95978499, 2394667100, 2823086632});

TEST(RandomIntegers, EqualTensorFlows) {
  run_source_suite([] { return random_integers({.seed = 42}) | take(9); }, kSeed42);
  run_source_suite(
      [] {
        return random_integers({.seed = 42, .rerandomize_each_iteration = true}) | take(4) |
               repeat(2);
      },
      kSeed42Passes);
}

TEST(RandomIntegers, AreTheSameEachPass) {
  const auto dataset = random_integers({.seed = 7}) | take(300);
  EXPECT_EQ(stream_of(dataset), stream_of(dataset));
  EXPECT_EQ(random_integers().cardinality(), Cardinality::infinite());
}

TEST(RandomIntegers, DifferWithoutASeed) {
  EXPECT_NE(stream_of(random_integers() | take(4)), stream_of(random_integers() | take(4)));
}

TEST(RandomIntegers, CanBeEnteredAnywhere) {
  const Stream all = stream_of(random_integers({.seed = 1}) | take(2000));
  for (const std::int64_t at : {1, 3, 255, 256, 257, 1023, 1999}) {
    const Stream tail = stream_of(random_integers({.seed = 1}) | skip(at) | take(2000 - at));
    EXPECT_EQ(tail, Stream(all.begin() + at, all.end())) << "from " << at;
  }
}

}  // namespace
}  // namespace infeed::test
