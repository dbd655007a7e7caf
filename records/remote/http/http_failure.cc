#include "remote/http/http_failure.h"

#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"
#include "remote/aws/xml.h"

namespace infeed::detail {
namespace {

/// Returns "404 NoSuchKey: The specified key does not exist.", with the store's own words if it
/// sent any.
std::string in_brackets(const HttpAnswer& answer) {
  std::string text = fmt::format("{}", answer.status);
  if (const auto code = xml_text(answer.body, "Code")) {
    text += " " + *code;
    if (const auto message = xml_text(answer.body, "Message")) text += ": " + *message;
  }
  return text;
}

HttpFailure refusal(const UrlTarget& target, const HttpAnswer& answer, std::string_view code) {
  const std::string status = in_brackets(answer);
  if (!target.is_s3()) {
    return {ErrorCode::permission_denied,
            fmt::format("the server refuses to give it ({}); check the URL, and whether it needs a "
                        "password in ~/.netrc or has expired",
                        status)};
  }
  std::string advice = "check that they may read it (s3:GetObject, for patterns s3:ListBucket)";
  if (code == "SignatureDoesNotMatch") {
    advice = "check AWS_SECRET_ACCESS_KEY and AWS_REGION";
  } else if (code == "InvalidAccessKeyId") {
    advice = "check AWS_ACCESS_KEY_ID and that it is meant for this endpoint";
  } else if (code == "RequestTimeTooSkewed") {
    advice = "check the clock of this machine";
  } else if (code == "ExpiredToken" || code == "InvalidToken") {
    advice = target.has_provided_credentials()
                 ? "they were lent and should hold still; check the clock of this machine"
                 : "get new ones: AWS_SESSION_TOKEN is not valid any more";
  }
  return {ErrorCode::permission_denied, fmt::format("the store refuses {} ({}); {}",
                                                    target.describe_credentials(), status, advice)};
}

bool may_pass(long status) {
  return status == 408 || status == 429 ||
         (status >= 500 && status != 501 && status != 505 && status != 511);
}

HttpFailure other_region(const UrlTarget& target, const HttpAnswer& answer,
                         const std::string& region) {
  return {ErrorCode::failed_precondition,
          fmt::format("the bucket '{}' is in region {}, asked was {} ({}); set AWS_REGION={}",
                      target.bucket(), region, target.region(), answer.status, region)};
}

std::optional<std::chrono::milliseconds> parse_pause(const std::string& retry_after) {
  unsigned seconds = 0;
  if (!parse_whole(retry_after, seconds)) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

HttpFailure failure_of_answer(const UrlTarget& target, const HttpAnswer& answer) {
  const std::string code = xml_text(answer.body, "Code").value_or("");
  if (may_pass(answer.status) || code == "RequestTimeout") {
    return {ErrorCode::unavailable,
            fmt::format("the server of {} has trouble ({})", target.host(), in_brackets(answer)),
            true, parse_pause(answer.retry_after)};
  }
  if (target.is_s3() && (answer.status == 301 || answer.status == 307 || answer.status == 400)) {
    const std::string region = answer.bucket_region.empty()
                                   ? xml_text(answer.body, "Region").value_or("")
                                   : answer.bucket_region;
    if (!region.empty() && region != target.region()) return other_region(target, answer, region);
  }
  if (answer.status == 401 || answer.status == 403 || code == "ExpiredToken" ||
      code == "InvalidToken") {
    return refusal(target, answer, code);
  }
  if (code == "NoSuchBucket") {
    return {ErrorCode::not_found,
            fmt::format("there is no bucket '{}' at {} ({}); check its name, AWS_REGION and "
                        "AWS_ENDPOINT_URL",
                        target.bucket(), target.host(), in_brackets(answer))};
  }
  if (answer.status == 404 || answer.status == 410) {
    return {ErrorCode::not_found, fmt::format("there is no such object at {} ({}); check the name",
                                              target.host(), in_brackets(answer))};
  }
  if (answer.status == 412) {
    return {ErrorCode::failed_precondition,
            fmt::format("the object changed while it was read ({}); read it again",
                        in_brackets(answer))};
  }
  return {ErrorCode::failed_precondition,
          fmt::format("the server of {} gives an answer that was not expected ({})", target.host(),
                      in_brackets(answer))};
}

HttpFailure failure_of_transport(const UrlTarget& target, CURLcode code, std::string_view detail,
                                 bool is_known) {
  const std::string text(detail.empty() ? std::string_view(::curl_easy_strerror(code)) : detail);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {ErrorCode::unavailable,
              fmt::format("the host of {} can't be found ({}); check its name and the network",
                          target.host(), text),
              is_known};
    case CURLE_COULDNT_CONNECT:
      return {ErrorCode::unavailable, fmt::format("{} can't be reached ({})", target.host(), text),
              true};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorCode::deadline_exceeded, fmt::format("{} is too slow ({})", target.host(), text),
              true};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {ErrorCode::failed_precondition,
              fmt::format("the TLS certificate of {} is refused ({}); name the file of its "
                          "authority in UrlOptions::ca_file or SSL_CERT_FILE if it is your own",
                          target.host(), text)};
    case CURLE_TOO_MANY_REDIRECTS:
      return {ErrorCode::failed_precondition,
              fmt::format("the server of {} sends from one place to the next ({})", target.host(),
                          text)};
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {ErrorCode::failed_precondition,
              fmt::format("the server of {} sends to a place that is not asked, such as from https "
                          "to http, or does not speak HTTP ({})",
                          target.host(), text)};
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
      return {ErrorCode::unavailable,
              fmt::format("the connection to {} was cut ({})", target.host(), text), true};
    default:
      return {ErrorCode::unavailable,
              fmt::format("the request to {} failed ({})", target.host(), text)};
  }
}

}  // namespace infeed::detail
