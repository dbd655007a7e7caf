// Shards -> pipeline -> slice -> fit(): with a source that takes 30 ms a batch, and without the
// delay.
#include <thread>

#include <infeed/device/fit.h>
#include <infeed/records/files.h>

#include "shards.h"

infeed::FitResult train(std::chrono::milliseconds delay) {
  const auto schema = infeed::ColumnSchema()
                          .column("image", infeed::DType::float32, {64})
                          .column("label", infeed::DType::int64);
  const auto batches = infeed::records(infeed::match_files("one_run-*.tfrecord")) |
                       infeed::shuffle({.buffer = 1000, .seed = 1}) |
                       infeed::parse_columns(schema, 64) |
                       infeed::map([delay](infeed::ColumnBatch batch) {
                         std::this_thread::sleep_for(delay);
                         return batch;
                       });
  const infeed::Scope scope({.seed = 42});
  const auto model =
      std::make_shared<infeed::nn::Dense>(scope.below("logits"), std::int64_t{64}, std::int64_t{8});
  infeed::nn::Adam adam(scope.below("adam"), scope.variables());
  return infeed::fit({.scope = scope, .forward = infeed::classifier(model), .optimizer = &adam},
                     infeed::Slice::parse("v3-8"), batches,
                     {.workload = infeed::workload("wide-resnet-28-10")});
}

bool are_judged_rightly() {
  const infeed::FitResult slow = train(std::chrono::milliseconds(30));
  const infeed::FitResult fast = train(std::chrono::milliseconds(0));
  std::printf("%s\n%s", slow.table().c_str(), fast.table().c_str());
  return slow.wall.verdict == infeed::InputVerdict::highly_bound &&
         slow.steady().verdict == infeed::InputVerdict::highly_bound &&
         fast.steady().verdict == infeed::InputVerdict::not_bound;
}

int main() {
  write_shards("one_run-");
  for (int tries = 0; tries < 10; ++tries) {  // the machine may take the core away for a moment
    if (are_judged_rightly()) return 0;
  }
  return 1;
}
