#include "remote/http/retries.h"

#include <algorithm>
#include <cstddef>

namespace infeed::detail {
namespace {

using std::chrono::milliseconds;
using Clock = Transfer::Clock;

/// Bytes of progress that make up for earlier failures.
constexpr std::size_t kProgressBytes = std::size_t{64} << 10;

}  // namespace

std::optional<Clock::time_point> Retries::second_request_at(const Transfer& transfer) const {
  const Transfer::Progress& progress = transfer.progress;
  const bool is_range = transfer.kind == Transfer::Kind::range;
  if (!is_range || progress.attempts != 1 || progress.is_hedged) return std::nullopt;
  const auto usual = times_.of(transfer.size_bytes, options_.hedge_percentile);
  if (!usual) return std::nullopt;
  return progress.began + std::max<Clock::duration>(*usual, options_.hedge_delay_min);
}

void Retries::note_filled(const Transfer& transfer) {
  if (transfer.kind != Transfer::Kind::range || !transfer.progress.is_steady) return;
  times_.add(transfer.size_bytes, Clock::now() - transfer.progress.began);
}

bool Retries::plan_another(Transfer& transfer, const HttpFailure& failure) {
  Transfer::Progress& progress = transfer.progress;
  progress.is_steady = false;
  if (!failure.may_pass) return false;
  if (progress.attempts > 0) return true;  // the other attempt goes on
  if (transfer.filled_bytes >= progress.filled_bytes_before + kProgressBytes) progress.tries = 0;
  progress.filled_bytes_before = transfer.filled_bytes;
  if (progress.tries >= options_.retries) return false;
  progress.not_before = Clock::now() + std::max(pause_before_try(progress.tries),
                                                std::min(failure.pause.value_or(milliseconds(0)),
                                                         options_.retry_delay_max));
  ++progress.tries;
  return true;
}

milliseconds Retries::pause_before_try(unsigned tries) {
  constexpr unsigned kDoublingsMax = 20;
  const milliseconds longest = std::min<milliseconds>(
      options_.retry_delay * (1LL << std::min(tries, kDoublingsMax)), options_.retry_delay_max);
  return milliseconds(std::uniform_int_distribution<milliseconds::rep>(
      longest.count() / 2, std::max(longest.count() / 2, longest.count()))(random_));
}

}  // namespace infeed::detail
