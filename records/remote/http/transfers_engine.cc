#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <utility>

#include <infeed/detail/terminal_error.h>

#include "remote/aws/bucket_list.h"
#include "remote/http/transfers.h"

/// The work of Transfers' thread.
namespace infeed::detail {
namespace {

using std::chrono::milliseconds;

/// Most bytes of an answer without ranges (a list has at most 1,000 names).
constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;
constexpr std::size_t kErrorBodyBytesMax = 4096;

void block_signals() {
  // Signals are for the program's threads. (OpenSSL may also cause SIGPIPE.)
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Returns why the attempt has ended without what it was made for. `is_known`: the host was found
/// before.
HttpFailure failure_of(const Attempt& attempt, CURLcode code, std::string_view detail,
                       const UrlTarget& target, bool is_known) {
  if (attempt.failure) return *attempt.failure;
  if (attempt.head && attempt.promised_end == 0 &&
      (attempt.transfer().kind != Transfer::Kind::whole || attempt.head->status != 200)) {
    return failure_of_answer(target, {attempt.head->status, attempt.body_begin,
                                      attempt.head->bucket_region, attempt.head->retry_after});
  }
  if (code != CURLE_OK) return failure_of_transport(target, code, detail, is_known);
  if (attempt.transfer().kind == Transfer::Kind::whole) {
    return {ErrorCode::unavailable,
            fmt::format("the list that {} gives is cut after {} bytes", target.host(),
                        attempt.transfer().text.size()),
            true};
  }
  return {ErrorCode::unavailable,
          fmt::format("the answer of {} is too short: {} of {} bytes", target.host(),
                      attempt.position - attempt.asked.begin, attempt.asked.bytes()),
          true};
}

/// Explains an answer that was whole, but brought too little.
HttpFailure failure_of_short_answer(const Attempt& attempt, const UrlTarget& target) {
  return {ErrorCode::unavailable,
          fmt::format("the server of {} gives little at a time: {} of {} bytes", target.host(),
                      attempt.position - attempt.asked.begin, attempt.asked.bytes())};
}

/// Returns the error of a transfer that isn't tried again.
Error error_of(const Transfer& transfer, const HttpFailure& failure, const UrlTarget& target) {
  std::string message = failure.message;
  if (transfer.progress.tries > 0) {
    message += fmt::format("; tried {} times", transfer.progress.tries + 1);
  }
  Error error = Error(failure.code, std::move(message)).at_file(target.name());
  if (transfer.kind == Transfer::Kind::range || transfer.filled_bytes > 0) {
    error.at_offset(transfer.offset_bytes + transfer.filled_bytes);
  }
  return error;
}

/// Returns how long nothing need be done while no bytes come.
int poll_ms(const std::vector<std::shared_ptr<Transfer>>& active,
            const std::vector<std::unique_ptr<Attempt>>& attempts, const Retries& retries,
            const UrlOptions& options) {
  const auto now = Transfer::Clock::now();
  Transfer::Clock::time_point next = now + std::chrono::seconds(10);
  for (const auto& transfer : active) {
    if (transfer->progress.attempts == 0) next = std::min(next, transfer->progress.not_before);
    if (const auto second = retries.second_request_at(*transfer)) next = std::min(next, *second);
  }
  for (const auto& attempt : attempts) next = std::min(next, attempt->next_look(options));
  const auto wait = std::chrono::ceil<milliseconds>(next - now);
  return static_cast<int>(std::max<milliseconds::rep>(wait.count(), 0));
}

}  // namespace

void Transfers::run() {
  block_signals();
  try {
    fetch_until_stopped();
  } catch (...) {
    break_down(*terminal_error());
  }
  for (const auto& attempt : attempts_) ::curl_multi_remove_handle(multi_.get(), attempt->easy());
  attempts_.clear();
}

void Transfers::break_down(const Error& reason) {
  {
    const std::lock_guard lock(mutex_);
    broken_ = Error(ErrorCode::resource_exhausted,
                    fmt::format("no more can be fetched: {}", reason.message()))
                  .at_file(target_.name());
    active_.insert(active_.end(), new_.begin(), new_.end());
    for (const auto& transfer : active_) {
      if (transfer->is_done) continue;
      transfer->error = broken_;
      transfer->is_done = true;
    }
  }
  changed_.notify_all();
}

void Transfers::fetch_until_stopped() {
  while (take_orders()) {
    const auto now = Clock::now();
    end_stalled(now);
    start_due(now);
    int running = 0;
    ::curl_multi_perform(multi_.get(), &running);
    take_messages();
    remove_attempts_of_done();
    ::curl_multi_poll(multi_.get(), nullptr, 0, poll_ms(active_, attempts_, retries_, options_),
                      nullptr);
  }
}

/// Takes what other threads have asked for since. Returns false after a stop.
bool Transfers::take_orders() {
  bool goes_on = true;
  {
    const std::lock_guard lock(mutex_);
    active_.insert(active_.end(), new_.begin(), new_.end());
    new_.clear();
    for (const auto& transfer : active_) transfer->is_done |= transfer->is_abandoned;
    goes_on = !stopped_;
  }
  remove_attempts_of_done();
  return goes_on;
}

void Transfers::remove_attempts_of_done() {
  std::erase_if(attempts_, [this](const std::unique_ptr<Attempt>& attempt) {
    if (!attempt->transfer().is_done) return false;
    ::curl_multi_remove_handle(multi_.get(), attempt->easy());
    return true;
  });
  std::erase_if(active_, [](const auto& transfer) { return transfer->is_done; });
}

void Transfers::start_due(Clock::time_point now) {
  for (const auto& transfer : active_) {
    Transfer::Progress& progress = transfer->progress;
    if (progress.attempts == 0 && progress.not_before <= now) {
      if (progress.began == Clock::time_point()) progress.began = now;
      start_attempt(transfer,
                    progress.is_steady ? Attempt::Connection::any : Attempt::Connection::fresh);
    } else if (const auto second = retries_.second_request_at(*transfer);
               second && *second <= now) {
      progress.is_hedged = true;
      start_attempt(transfer, Attempt::Connection::fresh);
    }
  }
}

void Transfers::start_attempt(const std::shared_ptr<Transfer>& transfer,
                              Attempt::Connection connection) {
  try {
    Attempt::Sink& sink = *this;
    auto attempt = std::make_unique<Attempt>(transfer, sink);
    attempt->prepare(target_, options_, identity_, connection);
    if (::curl_multi_add_handle(multi_.get(), attempt->easy()) != CURLM_OK) throw std::bad_alloc();
    attempts_.push_back(std::move(attempt));
    ++transfer->progress.attempts;
  } catch (Error& error) {
    if (error.code() == ErrorCode::unavailable) {  // the service that lends credentials has trouble
      try_again_or_fail(*transfer, {error.code(), error.message(), /*may_pass=*/true});
    } else {
      finish(*transfer, error.at_file(target_.name()));
    }
  } catch (const std::exception&) {
    finish(*transfer, Error(*terminal_error()).at_file(target_.name()));
  }
}

void Transfers::end_stalled(Clock::time_point now) {
  // Goes backwards, since ending an attempt takes it out of the list.
  for (std::size_t i = attempts_.size(); i-- > 0;) {
    const std::string reason = attempts_[i]->why_stalled(options_, now);
    if (!reason.empty()) end_attempt(*attempts_[i], CURLE_OPERATION_TIMEDOUT, reason);
  }
}

void Transfers::take_messages() {
  int left = 0;
  while (const CURLMsg* const message = ::curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* attempt = nullptr;
    ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &attempt);
    auto& ended = *static_cast<Attempt*>(static_cast<void*>(attempt));
    end_attempt(ended, message->data.result, ended.detail());
  }
}

bool Transfers::take(Attempt& attempt, std::string_view bytes) {
  if (attempt.transfer().is_done) return false;
  if (!attempt.head) take_head(attempt);
  if (attempt.failure) return false;
  const long status = attempt.head->status;
  if (attempt.transfer().kind == Transfer::Kind::whole ? status != 200
                                                       : attempt.promised_end == 0) {
    // The body of an error says more about the reason. Only its beginning: it may have no end.
    const std::size_t room = kErrorBodyBytesMax - attempt.body_begin.size();
    attempt.body_begin.append(bytes.substr(0, room));
    return attempt.body_begin.size() < kErrorBodyBytesMax;
  }
  store(attempt, bytes);
  return !attempt.failure;
}

void Transfers::take_head(Attempt& attempt) {
  attempt.head = AnswerHead::of(attempt.easy());
  Transfer& transfer = attempt.transfer();
  if (transfer.kind == Transfer::Kind::whole) {
    transfer.text.clear();
    return;
  }
  const PlacedAnswer placed =
      place_answer(*attempt.head, attempt.asked, identity_,
                   std::max<std::uint64_t>(options_.range_bytes, transfer.size_bytes));
  if (const auto* failure = std::get_if<HttpFailure>(&placed)) attempt.failure = *failure;
  if (const auto* placement = std::get_if<Placement>(&placed)) place(attempt, *placement);
}

void Transfers::place(Attempt& attempt, const Placement& placement) {
  Transfer& transfer = attempt.transfer();
  attempt.position = placement.range.begin;
  attempt.promised_end = placement.range.end;
  if (identity_) return;
  const std::uint64_t size = placement.identity.size_bytes;
  const bool is_whole = placement.range.bytes() == size;  // also where less was asked for
  const std::size_t held = transfer.size_bytes;
  const std::lock_guard lock(mutex_);
  identity_ = placement.identity;
  transfer.size_bytes =
      static_cast<std::size_t>(is_whole ? size : std::min<std::uint64_t>(held, size));
  if (transfer.size_bytes > held) {
    transfer.bytes = std::make_unique_for_overwrite<char[]>(transfer.size_bytes);
  }
}

void Transfers::store(Attempt& attempt, std::string_view bytes) {
  Transfer& transfer = attempt.transfer();
  if (transfer.kind == Transfer::Kind::whole) {
    transfer.text.append(bytes);
    if (transfer.text.size() > kTextBytesMax) {
      attempt.failure = HttpFailure{ErrorCode::resource_exhausted, "the answer is far too long"};
    }
    return;
  }
  // Another attempt may have come further, or this one may begin before the missing bytes.
  const std::uint64_t begin = attempt.position;
  attempt.position += bytes.size();
  const std::uint64_t wanted = transfer.offset_bytes + transfer.filled_bytes;
  const std::uint64_t end =
      std::min<std::uint64_t>(attempt.position, transfer.offset_bytes + transfer.size_bytes);
  if (end <= wanted) return;
  const auto count = static_cast<std::size_t>(end - wanted);
  std::memcpy(transfer.bytes.get() + transfer.filled_bytes, bytes.data() + (wanted - begin), count);
  if (transfer.filled_bytes + count == transfer.size_bytes) retries_.note_filled(transfer);
  {
    const std::lock_guard lock(mutex_);
    transfer.filled_bytes += count;
    transfer.is_done = transfer.filled_bytes == transfer.size_bytes;
  }
  changed_.notify_all();
}

void Transfers::end_attempt(Attempt& attempt, CURLcode code, std::string_view detail) {
  Transfer& transfer = attempt.transfer();
  if (!transfer.is_done) {
    --transfer.progress.attempts;
    if (code == CURLE_OK && !attempt.head) take_head(attempt);  // an answer without a body
    const bool is_whole = code == CURLE_OK && transfer.kind == Transfer::Kind::whole &&
                          attempt.head && attempt.head->status == 200 && !attempt.failure &&
                          !is_cut_list(transfer.text);
    // An empty object may be told by an error (416), whose body was not read to its end.
    const bool is_empty =
        transfer.kind == Transfer::Kind::opening && !attempt.failure && transfer.size_bytes == 0;
    const std::uint64_t missing = transfer.offset_bytes + transfer.filled_bytes;
    if (is_whole || is_empty) {
      finish(transfer, std::nullopt);
    } else if (code == CURLE_OK && attempt.promised_end != 0 && !attempt.failure &&
               attempt.position == attempt.promised_end && attempt.promised_end == missing) {
      // The server may give less at a time than was asked for.
      if (!retries_.allow_short_answer(transfer)) {
        finish(transfer, error_of(transfer, failure_of_short_answer(attempt, target_), target_));
      }
    } else {
      try_again_or_fail(transfer,
                        failure_of(attempt, code, detail, target_, identity_.has_value()));
    }
  }
  ::curl_multi_remove_handle(multi_.get(), attempt.easy());
  std::erase_if(attempts_, [&](const auto& other) { return other.get() == &attempt; });
}

void Transfers::try_again_or_fail(Transfer& transfer, const HttpFailure& failure) {
  if (!retries_.plan_another(transfer, failure))
    finish(transfer, error_of(transfer, failure, target_));
}

void Transfers::finish(Transfer& transfer, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    transfer.error = std::move(error);
    transfer.is_done = true;
  }
  changed_.notify_all();
}

}  // namespace infeed::detail
