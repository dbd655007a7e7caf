#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "infeed/records/url_options.h"
#include "remote/http/http_failure.h"
#include "remote/http/response_times.h"
#include "remote/http/transfer.h"

namespace infeed::detail {

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

 private:
  std::chrono::milliseconds pause_before_try(unsigned tries);

  const UrlOptions& options_;
  ResponseTimes times_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace infeed::detail
