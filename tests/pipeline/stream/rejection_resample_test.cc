#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <infeed/infeed.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

constexpr std::uint64_t kSeed = 7;

/// Seven of ten elements are of class 0, two of class 1, one of class 2.
std::int64_t skewed_class(std::int64_t value) {
  return value % 10 < 7 ? 0 : (value % 10 < 9 ? 1 : 2);
}
const std::vector<double> kSkewed{0.7, 0.2, 0.1};

/// Throws for some elements, and gives others an invalid class.
std::int64_t flawed_class(std::int64_t value) {
  if (value % 11 == 3) throw std::runtime_error("no class for " + std::to_string(value));
  if (value % 13 == 5) return value % 2 == 0 ? 3 : -1;
  return skewed_class(value);
}

/// Computes one epoch, with everything computed anew for each element.
Stream resample_model(const Slots& in, const ResampleOptions& options,
                      std::int64_t (*class_of)(std::int64_t)) {
  Stream stream;
  std::vector<double> seen(options.target.size(), 1);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].fails) {
      stream.push_back(show(in[i]));
      continue;
    }
    std::size_t c = 0;
    try {
      c = static_cast<std::size_t>(class_of(in[i].value));
    } catch (const std::exception& thrown) {
      stream.push_back(std::string("! ") + thrown.what());
      continue;
    }
    if (c >= options.target.size()) {
      stream.push_back(fmt::format(
          "! rejection_resample: class_of gave class {}, but target has 3 classes (0 to 2); give "
          "target a share for each class, or filter such elements out before",
          static_cast<std::int64_t>(c)));
      continue;
    }
    ++seen[c];
    const std::vector<double>& initial = options.initial.empty() ? seen : options.initial;
    double greatest = 0;
    for (std::size_t k = 0; k < seen.size(); ++k) {
      if (options.target[k] > 0) greatest = std::max(greatest, options.target[k] / initial[k]);
    }
    Rng rng(options.seed.value() ^ 0x5265736D706C6521, 0, i);
    const std::uint64_t low = rng();
    const std::uint64_t bits = (std::uint64_t{rng()} << 32 | low) >> 11;
    const double kept = options.target[c] == 0 ? 0 : options.target[c] / initial[c] / greatest;
    if (std::ldexp(static_cast<double>(bits), -53) < kept) stream.push_back(show(in[i]));
  }
  return stream;
}

/// Both forms, several shares.
std::vector<ResampleOptions> all_options() {
  std::vector<ResampleOptions> all;
  for (const std::vector<double>& target :
       {std::vector{1.0 / 3, 1.0 / 3, 1.0 / 3}, kSkewed, std::vector{0.5, 0.0, 0.5}}) {
    all.push_back({.target = target, .initial = {}, .seed = kSeed});
    all.push_back({.target = target, .initial = kSkewed, .seed = kSeed});
  }
  all.push_back({.target = {0.5, 0.5, 0}, .initial = {0.8, 0.2, 0}, .seed = kSeed});
  return all;
}

/// Returns the share of each class in the rest of `count` elements.
std::vector<double> shares_of(const ResampleOptions& options, std::int64_t count) {
  std::vector<double> shares(options.target.size(), 0);
  double all = 0;
  for (const std::int64_t x :
       (range(count) | rejection_resample(skewed_class, options)).iterate()) {
    ++shares[static_cast<std::size_t>(skewed_class(x))];
    ++all;
  }
  for (double& share : shares) share /= all;
  return shares;
}

std::string refusal_of(const ResampleOptions& options) {
  const Error error =
      error_of([&] { static_cast<void>(range(3) | rejection_resample(skewed_class, options)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  return error.message();
}

TEST(RejectionResample, PassesTheSuite) {
  for (const ResampleOptions& options : {all_options()[0], all_options()[1]}) {
    SCOPED_TRACE(options.initial.empty() ? "estimated" : "given");
    run_stage_suite(
        [&](auto dataset) {
          return dataset | rejection_resample(
                               [](const auto& x) { return skewed_class(value_of(x)); }, options);
        },
        [&](const Slots& in) { return resample_model(in, options, skewed_class); });
  }
}

TEST(RejectionResample, WhoseFunctionFailsPassesTheSuite) {
  for (const ResampleOptions& options : {all_options()[0], all_options()[1]}) {
    SCOPED_TRACE(options.initial.empty() ? "estimated" : "given");
    run_stage_suite_on<std::int64_t>(
        [&](const Dataset<std::int64_t>& dataset) {
          return dataset | rejection_resample(flawed_class, options);
        },
        [&](const Slots& in) { return resample_model(in, options, flawed_class); });
  }
}

TEST(RejectionResample, GivesTheTargetsShares) {
  for (const ResampleOptions& options : all_options()) {
    if (options.initial == std::vector{0.8, 0.2, 0.0}) continue;  // not those of the input
    SCOPED_TRACE(options.initial.empty() ? "estimated" : "given");
    const std::vector<double> shares = shares_of(options, 100'000);
    for (std::size_t c = 0; c < shares.size(); ++c) {
      EXPECT_NEAR(shares[c], options.target[c], 0.01) << "class " << c;
    }
  }
}

TEST(RejectionResample, KeepsAllOfTheClassThatIsShortest) {
  const auto dataset =
      range(1000) |
      rejection_resample(skewed_class,
                         {.target = {0.25, 0.25, 0.5}, .initial = kSkewed, .seed = kSeed});
  std::int64_t shortest = 0;
  for (const std::int64_t x : dataset.iterate()) shortest += skewed_class(x) == 2 ? 1 : 0;
  EXPECT_EQ(shortest, 100);
  const ResampleOptions as_they_are{.target = kSkewed, .initial = kSkewed, .seed = kSeed};
  EXPECT_EQ(stream_of(range(1000) | rejection_resample(skewed_class, as_they_are)),
            show_all(plain_slots(1000)));
}

TEST(RejectionResample, GivesTheSameInChunksOfAnySize) {
  for (const ResampleOptions& options : all_options()) {
    const Stream whole = resample_model(plain_slots(3000), options, flawed_class);
    for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single, Cut::Kind::random}) {
      const auto dataset = listed<std::int64_t>(plain_slots(3000), Cut{kind, kSeed}) |
                           rejection_resample(flawed_class, options);
      EXPECT_EQ(stream_of(dataset), whole);
      EXPECT_EQ(stream_of(dataset | recut(kSeed) | prefetch(2), {.epoch = 0}), whole);
    }
  }
}

TEST(RejectionResample, IsEqualAfterAResume) {
  for (const ResampleOptions& options : all_options()) {
    const auto report = testing::expect_equal_after_resume(
        [&] { return range(90) | rejection_resample(flawed_class, options) | repeat(2); });
    EXPECT_TRUE(report.end_reached);
    EXPECT_GT(report.errors, 0);
  }
}

TEST(RejectionResample, TakesADrawnSeedFromTheCheckpoint) {
  const ResampleOptions unseeded{.target = {0.4, 0.3, 0.3}};
  const auto all = [&] { return range(150) | rejection_resample(skewed_class, unseeded); };
  testing::expect_equal_after_resume(all);
  EXPECT_NE(stream_of(all(), {.epoch = 0}), stream_of(all(), {.epoch = 0}));
  const auto outer =
      range(4) | flat_map([&](std::int64_t x) {
        return range(100 * x, 100 * x + 100) | rejection_resample(skewed_class, unseeded);
      });
  testing::expect_equal_after_resume(outer);
}

TEST(RejectionResample, KeepsOthersInEachEpochAndWithEachSeed) {
  const auto resampled = [](std::uint64_t seed, std::uint64_t epoch) {
    const ResampleOptions options{.target = {0.2, 0.4, 0.4}, .initial = {}, .seed = seed};
    return stream_of(range(500) | rejection_resample(skewed_class, options), {.epoch = epoch});
  };
  EXPECT_EQ(resampled(1, 0), resampled(1, 0));
  EXPECT_NE(resampled(1, 0), resampled(1, 1));
  EXPECT_NE(resampled(1, 0), resampled(2, 0));
}

TEST(RejectionResample, KeepsTheSameOnAnyNumberOfHosts) {
  const ResampleOptions options = all_options()[1];
  Stream together = stream_of(range(500) | rejection_resample(skewed_class, options));
  Stream apart;
  for (std::uint64_t host = 0; host < 3; ++host) {
    const Stream part = stream_of(range(500) | shard({.count = 3, .index = host}) |
                                  rejection_resample(skewed_class, options));
    apart.insert(apart.end(), part.begin(), part.end());
  }
  std::sort(together.begin(), together.end());
  std::sort(apart.begin(), apart.end());
  EXPECT_EQ(apart, together);
}

TEST(RejectionResample, DoesNotDrawTheNumbersOfAMapWithItsSeed) {
  // With the same numbers, only elements whose map drew a small one would be kept.
  const auto drawn =
      range(10'000) | map([](std::int64_t, Rng& rng) { return rng.uniform(); }, {.seed = kSeed});
  const ResampleOptions options{.target = {0.1, 0.9}, .initial = {0.9, 0.1}, .seed = kSeed};
  double sum = 0;
  double count = 0;
  for (const float x : (drawn | rejection_resample([](float) { return 0; }, options)).iterate()) {
    sum += x;
    ++count;
  }
  EXPECT_NEAR(count, 10'000.0 / 81, 50);
  EXPECT_NEAR(sum / count, 0.5, 0.15);
}

TEST(RejectionResample, TakesMembersEnumeratorsAndTruthValues) {
  enum class Kind : std::uint8_t { cat, dog };
  struct Animal {
    Kind kind;
  };
  const ResampleOptions only_dogs{.target = {0, 1}, .initial = {0.5, 0.5}};
  const auto animals =
      range(10) | map([](std::int64_t x) { return Animal{x % 2 == 0 ? Kind::cat : Kind::dog}; }) |
      rejection_resample(&Animal::kind, only_dogs);
  int dogs = 0;
  for (const Animal& animal : animals.iterate()) dogs += animal.kind == Kind::dog ? 1 : 10;
  EXPECT_EQ(dogs, 5);
  const auto odd =
      range(6) | rejection_resample([](std::int64_t x) { return x % 2 == 1; }, only_dogs);
  EXPECT_THAT(stream_of(odd), ElementsAre("1", "3", "5"));
}

TEST(RejectionResample, ErrorsTakeTheElementsPlace) {
  const ResampleOptions options{.target = {1, 0}, .initial = {0.5, 0.5}};
  const auto flawed = range(4) | rejection_resample(
                                     [](std::int64_t x) {
                                       if (x == 1) throw std::runtime_error("no label");
                                       return x == 2 ? 5 : 0;
                                     },
                                     options);
  EXPECT_THAT(
      stream_of(flawed),
      ElementsAre("0", "! no label",
                  "! rejection_resample: class_of gave class 5, but target has 2 classes (0 to 1); "
                  "give target a share for each class, or filter such elements out before",
                  "3"));
  EXPECT_THAT(stream_of(flawed | skip_errors()), ElementsAre("0", "3"));
  const auto below =
      range(1) | rejection_resample([](std::int64_t) { return -1; }, {.target = {1}});
  EXPECT_THAT(stream_of(below),
              ElementsAre(HasSubstr("class -1, but target has 1 class (0 to 0)")));
}

TEST(RejectionResample, RefusesSharesThatMakeNoSense) {
  EXPECT_EQ(refusal_of({}),
            "rejection_resample: target is empty; give the share of each class, such as {.target = "
            "{0.5, 0.5}}");
  EXPECT_EQ(refusal_of({.target = {1.5, -0.5}}),
            "rejection_resample: target[1] is -0.5; give each class a share from 0 to 1");
  EXPECT_THAT(refusal_of({.target = {std::numeric_limits<double>::quiet_NaN(), 1}}),
              HasSubstr("target[0] is nan"));
  EXPECT_THAT(refusal_of({.target = {1}, .initial = {std::numeric_limits<double>::infinity()}}),
              HasSubstr("initial[0] is inf"));
  EXPECT_EQ(refusal_of({.target = {1, 2}}),
            "rejection_resample: the shares of target [1, 2] add up to 3; they must add up to 1 "
            "(divide each by their sum)");
  EXPECT_THAT(refusal_of({.target = {0.5, 0.5}, .initial = {0.5, 0.4}}),
              HasSubstr("the shares of initial [0.5, 0.4] add up to 0.9;"));
  EXPECT_EQ(refusal_of({.target = {0.5, 0.5}, .initial = {1}}),
            "rejection_resample: initial has 1 and target 2 shares; give both one for each class, "
            "or leave initial out to have it estimated");
  EXPECT_EQ(refusal_of({.target = {0.5, 0.5}, .initial = {1, 0}}),
            "rejection_resample: initial[1] is 0, but target[1] is 0.5: a class that never comes "
            "can't have a share; make target[1] 0, or initial[1] what it is");
  // Rounded ones will do.
  static_cast<void>(range(3) | rejection_resample(skewed_class, {.target = {0.33, 0.33, 0.33}}));
}

TEST(RejectionResample, SaysWhatItIs) {
  const auto given =
      range(5) |
      rejection_resample(skewed_class, {.target = {0.5, 0.5}, .initial = {0.9, 0.1}, .seed = 7});
  EXPECT_EQ(given.iterate().checkpoint().signature[1],
            "rejection_resample(target=0.5 0.5, initial=0.9 0.1, seed=7)");
  EXPECT_TRUE(given.cardinality().is_unknown());
  const auto estimated = range(0) | rejection_resample(skewed_class, {.target = {1}, .seed = 7});
  EXPECT_EQ(estimated.iterate().checkpoint().signature[1], "rejection_resample(target=1, seed=7)");
  EXPECT_EQ(estimated.cardinality(), Cardinality::finite(0));
}

}  // namespace
}  // namespace infeed::test
