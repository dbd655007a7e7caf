#include "train/train_twice.h"

#include "thrown_error.h"

namespace infeed::test {
namespace {

/// The command printed that it differs, and exited with 0.
TEST(TrainTwice, WhatIsLearntMustBeTheSame) {
  const tools::TrainedTwice same{
      .model = "lenet5", .same_losses = true, .same_order = true, .same_weights = true};
  tools::check_trained_twice({});
  tools::check_trained_twice({same, same});
  tools::TrainedTwice other = same;
  other.model = "mlp";
  other.same_losses = false;
  other.same_weights = false;
  const Error error = error_of([&] { tools::check_trained_twice({same, other}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("mlp learns something else from gzip shards"));
  EXPECT_THAT(error.message(), HasSubstr("without: losses, weights; expected"));
}

}  // namespace
}  // namespace infeed::test
