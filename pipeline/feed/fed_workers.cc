#include "feed/fed_workers.h"

#include <algorithm>
#include <fmt/format.h>

#include "feed/feed_messages.h"

namespace infeed::detail {

FedWorkers::FedWorkers(const std::vector<int>& ranks) : heard_(ranks.size(), Clock::now()) {
  for (const int rank : ranks) workers_.push_back({.rank = rank});
}

std::optional<std::size_t> FedWorkers::heard(int rank) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].rank != rank) continue;
    heard_[i] = Clock::now();
    if (workers_[i].state == FedWorkerState::silent) workers_[i].state = FedWorkerState::answers;
    return i;
  }
  return std::nullopt;
}

void FedWorkers::fail(std::size_t index, const Error& error) {
  workers_[index].state = FedWorkerState::failed;
  workers_[index].failure = error.what();
  failure_ = error.code();
}

void FedWorkers::judge(std::size_t index, Clock::time_point since,
                       std::chrono::milliseconds silent_after) {
  if (!answers(index)) return;
  if (Clock::now() - std::max(since, heard_[index]) < silent_after) return;
  workers_[index].state = FedWorkerState::silent;
}

void FedWorkers::throw_none_left(std::uint64_t step) const {
  std::string text;
  bool have_all_failed = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const FedWorker& worker = workers_[i];
    text += i == 0 ? "" : "; ";
    if (worker.state == FedWorkerState::failed) {
      text += fmt::format("rank {} failed: {}", worker.rank, worker.failure);
    } else {
      have_all_failed = false;
      const std::chrono::duration<double> silence = Clock::now() - heard_[i];
      text += fmt::format("rank {} has said nothing for {:.1f} s", worker.rank, silence.count());
    }
  }
  throw terminal(have_all_failed && failure_ ? *failure_ : ErrorCode::unavailable,
                 fmt::format("feed: no worker is left that makes step {}: {}", step, text));
}

}  // namespace infeed::detail
