#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "infeed/records/url_options.h"
#include "remote/http/attempt.h"
#include "remote/http/retries.h"

namespace infeed::detail {

/// Fetches ranges of one object (or lists of a store) in its own thread, many at once. Tries failed
/// requests again where that may help, and asks a second time for slow ranges.
///
/// Any thread may start, wait and abandon. The engine's thread owns all handles of libcurl, and
/// `changed_` tells waiting threads of its results. `mutex_` guards new_, stopped_, identity_,
/// broken_ and the second part of each Transfer; it is never held while libcurl is called. The
/// engine's thread reads without the mutex the members that it alone writes.
class Transfers final : private Attempt::Sink {
 public:
  Transfers(UrlTarget target, UrlOptions options);
  /// Ends all requests.
  ~Transfers() override;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  std::shared_ptr<Transfer> start(Transfer::Kind kind, std::uint64_t offset, std::size_t size,
                                  NamesAndValues query = {});
  /// Waits until `want` bytes behind the first `have` have arrived, or the transfer is done.
  /// Returns how many bytes there are. Throws the transfer's Error, or cancelled, when nothing came
  /// behind `have`.
  std::size_t wait(const Transfer& transfer, std::size_t have, std::size_t want);
  /// Gives up a transfer that nobody wants any more.
  void abandon(Transfer& transfer);
  std::size_t size_of(const Transfer& transfer) const;
  /// Identity of the object. Known once wait() has returned for an opening.
  ObjectIdentity identity() const;
  const UrlTarget& target() const { return target_; }
  const UrlOptions& options() const { return options_; }

 private:
  using Clock = Transfer::Clock;
  struct MultiCleanup {
    void operator()(CURLM* multi) const { ::curl_multi_cleanup(multi); }
  };

  void run();
  void fetch_until_stopped();
  void break_down(const Error& reason);
  bool take_orders();
  void start_due(Clock::time_point now);
  void start_attempt(const std::shared_ptr<Transfer>& transfer, Attempt::Connection connection);
  void end_stalled(Clock::time_point now);
  void take_messages();
  bool take(Attempt& attempt, std::string_view bytes) override;
  void take_head(Attempt& attempt);
  void place(Attempt& attempt, const Placement& placement);
  void store(Attempt& attempt, std::string_view bytes);
  void end_attempt(Attempt& attempt, CURLcode code, std::string_view detail);
  void try_again_or_fail(Transfer& transfer, const HttpFailure& failure);
  void finish(Transfer& transfer, std::optional<Error> error);
  void remove_attempts_of_done();

  const UrlTarget target_;
  const UrlOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::shared_ptr<Transfer>> new_;
  bool stopped_ = false;
  std::optional<ObjectIdentity> identity_;
  std::optional<Error> broken_;  ///< set when the engine has ended

  // Used only by the engine's thread.
  std::vector<std::shared_ptr<Transfer>> active_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  Retries retries_{options_};

  std::unique_ptr<CURLM, MultiCleanup> multi_;
  std::jthread thread_;  // last: ends before the other members go
};

}  // namespace infeed::detail
