// bfloat16 needs no loss scaling; float16 does.
#include "pictures.h"

namespace {

constexpr int kSteps = 120;

double accuracy_in(infeed::Precision precision, bool scales_loss) {
  infeed::Strategy strategy(initialised("v3-8"), {.precision = precision});
  const infeed::Scope scope = strategy.scope({.seed = 42});
  const infeed::ReplicaFunction forward = small_model(scope);
  infeed::nn::Adam adam(scope.below("adam"), scope.variables(),
                        {.rate = infeed::nn::constant_rate(0.01)});
  infeed::nn::LossScale loss_scale(scope.below("loss_scale"));
  for (std::uint64_t number = 0; number < kSteps; ++number) {
    infeed::ReducedStep step = strategy.run(forward, pictures(64, number),
                                            {.loss_scale = scales_loss ? &loss_scale : nullptr});
    // A step whose gradients overflowed is left out, and the next one has a smaller scale.
    if (scales_loss && !loss_scale.update(infeed::nn::all_finite(step.gradients))) continue;
    strategy.apply(std::move(step), adam);
  }
  return strategy.evaluate(forward, pictures(512, 1000)).accuracy();
}

}  // namespace

int main() {
  const double full = accuracy_in(infeed::Precision::float32, false);
  const double bfloat16 = accuracy_in(infeed::Precision::mixed_bfloat16, false);
  const double float16 = accuracy_in(infeed::Precision::mixed_float16, true);
  std::printf("float32 %.4f, mixed_bfloat16 %.4f, mixed_float16 %.4f\n", full, bfloat16, float16);
  require(full > 0.99, "float32 learns the lines");
  require(bfloat16 > full - 0.005, "bfloat16 as well");
  require(float16 > full - 0.005, "float16 as well, with a scaled loss");
}
