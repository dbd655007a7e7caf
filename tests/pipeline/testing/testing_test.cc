#include <atomic>
#include <cmath>
#include <limits>

#include <infeed/infeed.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/suite/test_sources.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using infeed::testing::expect_equal_after_resume;
using infeed::testing::ResumeReport;

TEST(ExpectEqualAfterResume, ReportsWhatItCompared) {
  const ResumeReport report = expect_equal_after_resume(
      failing_range(30, 7) | shuffle({.buffer = 5, .seed = 1}) | repeat(2) | prefetch());
  EXPECT_EQ(report.elements, 60);
  EXPECT_EQ(report.errors, 2);
  EXPECT_EQ(report.resumes, 61);
  EXPECT_TRUE(report.end_reached);
}

TEST(ExpectEqualAfterResume, LooksAtThePartOfALongStreamThatItIsTold) {
  const ResumeReport report = expect_equal_after_resume(counter(), {.elements_max = 20});
  EXPECT_EQ(report.elements, 20);
  EXPECT_EQ(report.resumes, 21);
  EXPECT_FALSE(report.end_reached);
}

TEST(ExpectEqualAfterResume, TakesAnEmptyDataset) {
  const ResumeReport report = expect_equal_after_resume(range(0));
  EXPECT_EQ(report.elements, 0);
  EXPECT_EQ(report.resumes, 1);
  EXPECT_TRUE(report.end_reached);
}

TEST(ExpectEqualAfterResume, FindsAFunctionThatCounts) {
  std::atomic<std::int64_t> count = 0;
  const auto dataset = range(10) | map([&count](std::int64_t x) { return x + 100 * count++; });
  const Error error = error_of([&] { expect_equal_after_resume(dataset); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "resumed at element 0, element 0 differs: found 1000, expected 0; look for a function "
            "whose result depends on more than its element (a counter, a clock, a generator of its "
            "own: take an infeed::Rng& instead), or for ordered = false");
}

TEST(ExpectEqualAfterResume, FindsAStreamThatEndsElsewhere) {
  std::atomic<int> calls = 0;
  const auto fails_later = [&calls](std::int64_t x) {
    if (x == 2 && ++calls > 1) throw std::runtime_error("the second time");
    return std::string("element ") + std::to_string(x);
  };
  const Error error = error_of([&] { expect_equal_after_resume(range(3) | map(fails_later)); });
  EXPECT_TRUE(error.message().starts_with(
      "resumed at element 0, element 2 differs: found the error 'user_function: the second "
      "time [stage map]', expected 'element 2'; look for "))
      << error.message();
}

TEST(ExpectEqualAfterResume, DescribesTheDatasetAnew) {
  // A counter that each description starts with: one dataset resumes it rightly, a process after a
  // crash wrongly.
  std::int64_t descriptions = 0;
  const auto describe = [&descriptions] {
    return range(10) | map([number = descriptions++](std::int64_t x) { return x + 100 * number; });
  };
  EXPECT_EQ(expect_equal_after_resume(describe()).elements, 10);
  descriptions = 0;
  const Error error = error_of([&] { expect_equal_after_resume(describe); });
  EXPECT_TRUE(error.message().starts_with(
      "resumed at element 0, element 0 differs: found 100, expected 0; look for "))
      << error.message();
  const ResumeReport report = expect_equal_after_resume(
      [] { return failing_range(30, 7) | shuffle({.buffer = 5, .seed = 1}) | repeat(2); });
  EXPECT_EQ(report.elements, 60);
  EXPECT_EQ(report.resumes, 61);
}

TEST(ExpectEqualAfterResume, GoesOnBehindFullCachesWithEmptyOnes) {
  const auto describe = [] {
    return failing_range(10, 3) | skip_errors() | cache() | map([](std::int64_t x) { return x; });
  };
  EXPECT_EQ(expect_equal_after_resume(describe).elements, 9);
}

auto shuffled(std::int64_t x) { return range(10 * x, 10 * x + 4) | shuffle({.buffer = 4}); }

TEST(ExpectEqualAfterResume, TakesInnerDatasetsThatDrawTheirSeeds) {
  const ResumeReport report =
      expect_equal_after_resume([] { return range(5) | flat_map(shuffled) | prefetch(); });
  EXPECT_EQ(report.elements, 20);
  EXPECT_EQ(report.resumes, 21);
  expect_equal_after_resume(range(5) | flat_map(shuffled) | repeat(2));
  expect_equal_after_resume([] { return range(3) | flat_map(shuffled) | cache() | repeat(2); });
  // The seed of the second is drawn in the middle, and can't be known before.
  expect_equal_after_resume([] {
    return range(2) | flat_map(shuffled) | shuffle({.buffer = 3}) |
           concatenate(range(2, 4) | flat_map(shuffled)) | batch(3);
  });
}

TEST(ExpectEqualAfterResume, FindsACountingFunctionInAnInnerDatasetThatDraws) {
  std::atomic<std::int64_t> count = 0;
  const auto counting = [&count](std::int64_t x) {
    return shuffled(x) | map([&count](std::int64_t y) { return y + 100 * count++; });
  };
  const Error error =
      error_of([&] { expect_equal_after_resume([&] { return range(3) | flat_map(counting); }); });
  EXPECT_THAT(error.message(), StartsWith("resumed at element 0, element 0 differs: found "));
}

/// A cache that doesn't tell the draws of its input.
class ForgetfulCache final : public Node {
 public:
  explicit ForgetfulCache(NodePointer input) : Node("forgetful", input->type(), {input}) {}

 protected:
  class Pass final : public Stage {
   public:
    Pass(const StageContext& context, const ForgetfulCache& cache)
        : Stage(context), cache_(cache), context_(context) {
      if (cache_.kept_.empty()) input_ = cache_.input().open(context_);
    }
    Pull do_pull(Chunk& out, std::size_t) override {
      if (input_ == nullptr && next_ == cache_.kept_.size()) return Pull::end;
      if (input_ == nullptr) {
        *static_cast<std::int64_t*>(out.back()) = cache_.kept_[next_++];
        out.grow(1);
        return Pull::values;
      }
      const Pull pulled = input_->pull(out, 1);
      if (pulled == Pull::values) cache_.kept_.push_back(*static_cast<std::int64_t*>(out.front()));
      return pulled;
    }
    TracedPlace do_trace(std::uint64_t position) const override {
      return Stage::do_trace(position);
    }

   private:
    const ForgetfulCache& cache_;
    const StageContext context_;
    std::unique_ptr<Stage> input_;
    std::size_t next_ = 0;
  };
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<Pass>(context, *this);
  }

 private:
  mutable std::vector<std::int64_t> kept_;
};

TEST(ExpectEqualAfterResume, FindsACheckpointThatLacksASeed) {
  const auto describe = [] {
    const auto drawn = range(5) | flat_map(shuffled);
    return Dataset<std::int64_t>(std::make_shared<ForgetfulCache>(drawn.node()));
  };
  const Error error = error_of([&] { expect_equal_after_resume(describe); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), AllOf(StartsWith("resumed at element "),
                                     HasSubstr("the run goes on with another stream: its element "),
                                     HasSubstr("was taken before the checkpoint, which lacks a "
                                               "seed that a stage of an inner dataset had drawn")));
}

struct Sample {
  std::array<float, 2> image;
  std::string name;
};

TEST(ExpectEqualAfterResume, ComparesBatchesStructsPointersAndNaN) {
  const auto sample = [](std::int64_t x) {
    const float f = x % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(x);
    return Sample{{f, 1}, std::to_string(x)};
  };
  EXPECT_EQ(expect_equal_after_resume(range(9) | map(sample)).elements, 9);
  EXPECT_EQ(expect_equal_after_resume(range(9) | map(sample) | enumerate() | batch(2)).elements, 5);
  const auto owned = [](std::int64_t x) { return std::make_unique<std::int64_t>(x); };
  EXPECT_EQ(expect_equal_after_resume(range(9) | map(owned)).elements, 9);
  const auto several = [](std::int64_t x) { return std::vector<double>(3, std::sqrt(4 - x)); };
  EXPECT_EQ(expect_equal_after_resume(range(9) | map(several)).elements, 9);

  std::atomic<std::int64_t> count = 0;
  const auto counting = [&count, sample](std::int64_t x) { return sample(x + count++); };
  EXPECT_THROW(expect_equal_after_resume(range(9) | map(counting)), Error);
  EXPECT_THROW(expect_equal_after_resume(range(9) | map(counting) | batch(4)), Error);
}

TEST(ExpectEqualAfterResume, TakesAComparisonOfYourOwn) {
  std::atomic<std::int64_t> count = 0;
  const auto dataset = range(10) | map([&count](std::int64_t x) { return x + 100 * count++; });
  const auto equal_to_a_hundred = [](std::int64_t a, std::int64_t b) { return a % 100 == b % 100; };
  EXPECT_EQ(expect_equal_after_resume(dataset, {}, equal_to_a_hundred).elements, 10);
}

}  // namespace
}  // namespace infeed::test
