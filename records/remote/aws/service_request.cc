#include "remote/aws/service_request.h"

#include <fmt/format.h>
#include <thread>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "remote/http/curl_request.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 10;

bool has_trouble(const ServiceAnswer& answer) {
  return answer.status == 429 || answer.status >= 500;
}

struct Outcome {
  CURLcode code = CURLE_OK;
  bool is_connected = false;
  std::string detail = {};
  ServiceAnswer answer = {};

  bool is_missing(const ServiceRequest& request) const {
    return request.may_be_missing && !is_connected;
  }
  bool may_pass(const ServiceRequest& request) const {
    if (code == CURLE_OK) return has_trouble(answer);
    if (is_missing(request)) return false;
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT) return true;
    return is_connected && code != CURLE_OPERATION_TIMEDOUT && code != CURLE_WRITE_ERROR &&
           code != CURLE_PEER_FAILED_VERIFICATION;
  }
};

Outcome try_once(const ServiceRequest& request) {
  Outcome outcome;
  CurlRequest curl;
  for (const std::string& header : request.headers) curl.add_header(header);
  curl.set(CURLOPT_URL, request.url.c_str());
  if (request.method == "POST") {
    curl.set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl.set(CURLOPT_POSTFIELDS, request.body.c_str());
  } else {
    curl.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.way == ServiceRequest::Way::direct) curl.set(CURLOPT_NOPROXY, "*");
  curl.collect_answer(outcome.answer.text, kAnswerBytesMax);
  curl.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  curl.set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl.set_ca_file({});
  outcome.code = ::curl_easy_perform(curl.easy());
  curl_off_t connect_us = 0;
  ::curl_easy_getinfo(curl.easy(), CURLINFO_CONNECT_TIME_T, &connect_us);
  ::curl_easy_getinfo(curl.easy(), CURLINFO_RESPONSE_CODE, &outcome.answer.status);
  outcome.is_connected = connect_us > 0;
  outcome.detail = curl.detail().empty() ? ::curl_easy_strerror(outcome.code) : curl.detail();
  return outcome;
}

}  // namespace

ServiceAnswer ask_service(const ServiceRequest& request) {
  start_curl();
  constexpr int kTries = 3;
  std::chrono::milliseconds pause{100};
  const auto end = std::chrono::steady_clock::now() + request.timeout;
  Outcome outcome = try_once(request);
  for (int tries = 1; tries < kTries && outcome.may_pass(request); ++tries, pause *= 2) {
    if (std::chrono::steady_clock::now() + pause >= end) break;
    std::this_thread::sleep_for(pause);
    outcome = try_once(request);
  }
  if (outcome.code == CURLE_OK && !has_trouble(outcome.answer)) return std::move(outcome.answer);
  if (outcome.code == CURLE_OK) outcome.detail = fmt::format("{}", outcome.answer.status);
  throw Error(outcome.is_missing(request) ? ErrorCode::not_found : ErrorCode::unavailable,
              fmt::format("{} does not answer ({})", redacted_url(request.url), outcome.detail));
}

}  // namespace infeed::detail
