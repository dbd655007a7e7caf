#pragma once

#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/executor.h>

#include "sanitizers.h"
#include "seeded_random.h"

namespace infeed::test {

// ThreadSanitizer doesn't understand how TBB synchronises, and silencing it would hide our races.
inline constexpr bool kTbbIsTested = !test::kThreadSanitizer;

struct NamedExecutor {
  std::string name;
  std::shared_ptr<Executor> executor;
};

/// Every kind of executor, made once for many runs.
class Executors {
 public:
  Executors() {
    all_.push_back({"inline", Executor::inline_()});
    for (const int threads : {1, 2, 4}) {
      all_.push_back({"threads(" + std::to_string(threads) + ")", Executor::threads(threads)});
    }
    if (kTbbIsTested) all_.push_back({"tbb(2)", Executor::tbb(2)});
  }

  const std::vector<NamedExecutor>& all() const { return all_; }
  const NamedExecutor& inline_one() const { return all_.front(); }
  const NamedExecutor& any(SeededRandom& random) const { return all_[random.below(all_.size())]; }

 private:
  std::vector<NamedExecutor> all_;
};

}  // namespace infeed::test
