#include "remote/http/attempt.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <new>
#include <utility>

#include "io/url.h"

namespace infeed::detail {

namespace {

/// Returns what was thrown, which must not pass through libcurl. The text of a lack of memory is short
/// enough for a string that takes none.
HttpFailure failure_in_flight() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::resource_exhausted, "out of memory"};
  } catch (const std::exception& error) {
    return {ErrorCode::resource_exhausted, error.what()};
  }
}

}  // namespace

Attempt::Attempt(std::shared_ptr<Transfer> transfer, Sink& sink)
    : transfer_(std::move(transfer)), sink_(sink) {}

void Attempt::prepare(const UrlTarget& target, const UrlOptions& options,
                      const std::optional<ObjectIdentity>& known, Connection connection) {
  const HttpRequest wanted = target.get(transfer_->query);
  for (const std::string& header : wanted.headers) request_.add_header(header);
  if (transfer_->kind != Transfer::Kind::whole) {
    const std::uint64_t begin = transfer_->offset_bytes;
    asked = {begin + transfer_->filled_bytes, begin + transfer_->size_bytes};
    position = asked.begin;
    request_.add_header(fmt::format("Range: bytes={}-{}", asked.begin, asked.end - 1));
    if (known) request_.add_header(known->condition());
  }
  request_.set(CURLOPT_URL, wanted.url.c_str());
  request_.set(CURLOPT_PATH_AS_IS, 1L);  // the path is sent as it was signed
  request_.set(CURLOPT_WRITEFUNCTION, &Attempt::receive);
  request_.set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  request_.set(CURLOPT_PRIVATE, static_cast<void*>(this));
  request_.set(CURLOPT_BUFFERSIZE, 512L << 10);
  request_.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  // Each range in flight needs its own connection: streams inside one share its window.
  request_.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  const bool is_secure = url_scheme(wanted.url) == "https";
  request_.set(CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  if (!target.is_s3()) {  // a signature holds for one host only
    request_.set(CURLOPT_FOLLOWLOCATION, 1L);
    request_.set(CURLOPT_MAXREDIRS, 8L);
    request_.set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    request_.set(CURLOPT_HEADERFUNCTION, &Attempt::receive_header);
    request_.set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    origin_ = Origin::of(wanted.url);
  }
  if (connection == Connection::fresh) request_.set(CURLOPT_FRESH_CONNECT, 1L);
  request_.set_ca_file(options.ca_file);
  last_byte_ = window_begin_ = Clock::now();  // signing may have waited for credentials
}

std::string Attempt::why_stalled(const UrlOptions& options, Clock::time_point now) {
  using Seconds = std::chrono::duration<double>;
  if (now - last_byte_ >= options.stall_timeout) {
    return fmt::format("no byte came for {:g} s", Seconds(options.stall_timeout).count());
  }
  if (options.bytes_per_second_min == 0 || now - window_begin_ < options.rate_window) return {};
  const double window_s = Seconds(options.rate_window).count();
  const std::size_t came = std::exchange(window_bytes_, 0);
  window_begin_ = now;
  if (static_cast<double>(came) >= static_cast<double>(options.bytes_per_second_min) * window_s) {
    return {};
  }
  return fmt::format("{} bytes came in {:g} s, where {} a second are the least", came, window_s,
                     options.bytes_per_second_min);
}

Transfer::Clock::time_point Attempt::next_look(const UrlOptions& options) const {
  const Clock::time_point stalled = last_byte_ + options.stall_timeout;
  return options.bytes_per_second_min == 0 ? stalled
                                           : std::min(stalled, window_begin_ + options.rate_window);
}

std::size_t Attempt::receive_header(char* bytes, std::size_t unit, std::size_t count,
                                    void* attempt) {
  auto& self = *static_cast<Attempt*>(attempt);
  const std::size_t size = unit * count;
  try {
    const auto next = redirected_to(self.easy(), {bytes, size});
    if (next && !next->may_have_password_of(self.origin_)) {
      self.request_.set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    }
  } catch (const std::exception&) {
    self.failure = failure_in_flight();
    return 0;
  }
  return size;
}

std::size_t Attempt::receive(char* bytes, std::size_t unit, std::size_t count, void* attempt) {
  auto& self = *static_cast<Attempt*>(attempt);
  const std::size_t size = unit * count;
  self.last_byte_ = Clock::now();
  self.window_bytes_ += size;
  try {
    return self.sink_.take(self, {bytes, size}) ? size : 0;
  } catch (const std::exception&) {
    self.failure = failure_in_flight();
    return 0;
  }
}

}  // namespace infeed::detail
