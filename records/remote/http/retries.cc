#include "remote/http/retries.h"

#include <algorithm>
#include <cstddef>

namespace infeed::detail {
namespace {

using std::chrono::milliseconds;
using Clock = Transfer::Clock;

/// Bytes of progress that make up for earlier failures.
constexpr std::size_t kProgressBytes = std::size_t{64} << 10;
/// Answers that bring less than that together. Servers that give 1 KiB at a time are the slowest that
/// are waited for.
constexpr unsigned kShortAnswersMax = 64;

}  // namespace

UrlOptions with_bounded_times(UrlOptions options) {
  constexpr milliseconds kTimeMax = std::chrono::hours(24 * 365);
  for (milliseconds* const time :
       {&options.retry_delay, &options.retry_delay_max, &options.connect_timeout,
        &options.stall_timeout, &options.rate_window, &options.hedge_delay_min}) {
    *time = std::min(*time, kTimeMax);
  }
  return options;
}

milliseconds pause_before_retry(const HttpFailure& failure, unsigned tries,
                                const UrlOptions& options, std::mt19937_64& random) {
  constexpr unsigned kDoublingsMax = 20;
  const milliseconds longest = std::min<milliseconds>(
      options.retry_delay * (1LL << std::min(tries, kDoublingsMax)), options.retry_delay_max);
  const milliseconds drawn(std::uniform_int_distribution<milliseconds::rep>(
      longest.count() / 2, std::max(longest.count() / 2, longest.count()))(random));
  return std::max(drawn,
                  std::min(failure.pause.value_or(milliseconds(0)), options.retry_delay_max));
}

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
  if (progress.attempts > 0) return true;  // the other attempt goes on, and says how it ends
  if (!failure.may_pass) return false;
  if (transfer.filled_bytes >= progress.filled_bytes_before + kProgressBytes) progress.tries = 0;
  progress.filled_bytes_before = transfer.filled_bytes;
  if (progress.tries >= options_.retries) return false;
  progress.not_before =
      Clock::now() + pause_before_retry(failure, progress.tries, options_, random_);
  ++progress.tries;
  return true;
}

bool Retries::allow_short_answer(Transfer& transfer) const {
  Transfer::Progress& progress = transfer.progress;
  if (progress.attempts > 0) return true;  // the other attempt goes on
  if (transfer.filled_bytes >= progress.filled_bytes_when_short + kProgressBytes) {
    progress.short_answers = 0;
    progress.filled_bytes_when_short = transfer.filled_bytes;
  }
  return ++progress.short_answers <= kShortAnswersMax;
}

}  // namespace infeed::detail
