#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "infeed/records/url_options.h"
#include "remote/http/http_failure.h"
#include "remote/http/response_times.h"
#include "remote/http/transfer.h"

namespace infeed::detail {

/// Returns the options with times of a year at most: sums of longer ones, as of milliseconds::max(), and
/// their nanoseconds overflow.
UrlOptions with_bounded_times(UrlOptions options);

/// Returns how long to wait after a failure that `tries` others came before. The pause doubles each
/// time up to the limit, and half of it is drawn at random. A longer one that a server asks for has
/// the same limit.
std::chrono::milliseconds pause_before_retry(const HttpFailure& failure, unsigned tries,
                                             const UrlOptions& options, std::mt19937_64& random);

/// Decides when a range or list is asked for again: after a failure, and beside a request that takes
/// longer than others did. Used by the thread of Transfers alone.
class Retries {
 public:
  explicit Retries(const UrlOptions& options) : options_(options) {}  ///< which must live as long

  /// Returns when a second request is due beside a transfer's only one; nothing for one that gets
  /// none.
  std::optional<Transfer::Clock::time_point> second_request_at(const Transfer& transfer) const;
  /// Notes that the last byte of a transfer has come.
  void note_filled(const Transfer& transfer);
  /// Plans another try of a transfer that failed, unless one of its requests goes on. Returns false
  /// if no more tries are of use or allowed.
  bool plan_another(Transfer& transfer, const HttpFailure& failure);
  /// Notes an answer that was whole, but brought less than was asked for. Returns false if many
  /// such answers have brought nearly nothing: a byte at a time would hold a reader for days.
  bool allow_short_answer(Transfer& transfer) const;

 private:
  const UrlOptions& options_;
  ResponseTimes times_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace infeed::detail
