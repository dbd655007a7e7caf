// fit(): epochs, validation, callbacks, a checkpoint folder, resuming from it.
#include <filesystem>

#include <infeed/device/fit.h>

#include "pictures.h"

namespace {

constexpr const char* kFolder = "fit-checkpoints";

infeed::FitResult train(std::int64_t epochs) {
  const infeed::Scope scope({.seed = 42});
  const infeed::ReplicaFunction forward = small_model(scope);
  infeed::nn::Adam adam(scope.below("adam"), scope.variables(),
                        {.rate = infeed::nn::constant_rate(0.01)});
  const infeed::Dataset<infeed::ColumnBatch> training =
      infeed::from_columns(pictures(2048, 1), 64) | infeed::shuffle({.buffer = 32, .seed = 5});
  return infeed::fit({.scope = scope, .forward = forward, .optimizer = &adam},
                     infeed::Slice::parse("v3-8"), training,
                     {.epochs = epochs,
                      .validation = infeed::from_columns(pictures(512, 2), 64),
                      .resume_from = kFolder,
                      .callbacks = {std::make_shared<infeed::SaveCheckpoints>(
                          infeed::SaveCheckpointsOptions{.folder = kFolder})}});
}

}  // namespace

int main() {
  std::filesystem::remove_all(kFolder);
  const infeed::FitResult first = train(2);
  require(first.resumed_at == 0 && first.epochs.size() == 2, "two epochs from the start");
  const infeed::FitResult result = train(4);
  require(result.resumed_at == 64, "it goes on behind the second epoch");
  for (const infeed::EpochLogs& logs : result.epochs) {
    std::printf("epoch %d: loss %.4f, accuracy %.4f, validated %.4f\n",
                static_cast<int>(logs.epoch), logs.training.loss(), logs.training.accuracy(),
                logs.validation->accuracy());
  }
  require(result.epochs.size() == 4, "the epochs before are there");
  require(result.epochs.back().validation->accuracy() > 0.99, "it has learnt the lines");
  std::filesystem::remove_all(kFolder);
}
