#include "remote/http/url_target.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/url.h"
#include "remote/aws/credential_provider.h"

namespace infeed::detail {
namespace {

Error invalid(const std::string& name, std::string message) {
  return Error(ErrorCode::invalid_argument, std::move(message)).at_file(redacted_url(name));
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[20];
  const std::size_t size = std::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &utc);
  return {text, size};
}

/// Returns the host as the header Host names it: without the scheme's usual port.
std::string host_header(std::string_view scheme, std::string_view host) {
  const std::string_view usual = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(usual)) host.remove_suffix(usual.size());
  return std::string(host);
}

/// True for the characters of bucket names. Any other character could end the host, which the
/// bucket is a part of, and so choose the server that gets the signature and the session token.
bool is_bucket_name(std::string_view name) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  return name.size() >= 3 && name.size() <= 63 && name.find_first_not_of(kCharacters) == name.npos;
}

/// Redacts an endpoint, even one without a scheme.
std::string printable_endpoint(const std::string& endpoint) {
  if (is_url(endpoint)) return redacted_url(endpoint);
  constexpr std::string_view kScheme = "x://";
  return redacted_url(std::string(kScheme) + endpoint).substr(kScheme.size());
}

}  // namespace

S3Name S3Name::parse(const std::string& name) {
  const std::size_t begin = std::string_view("s3://").size();
  const std::size_t slash = std::min(name.find('/', begin), name.size());
  S3Name parts{name.substr(begin, slash - begin), name.substr(std::min(slash + 1, name.size()))};
  if (parts.bucket.empty()) {
    throw invalid(name, "the URL names no bucket; it is written s3://bucket/key");
  }
  if (!is_bucket_name(parts.bucket)) {
    throw invalid(
        name,
        "what stands between s3:// and the next slash is no name of a bucket, which has 3 "
        "to 63 of a-z, 0-9, '.' and '-'; it is written s3://bucket/key");
  }
  return parts;
}

UrlTarget::UrlTarget(const std::string& name, const Environment& environment,
                     SharedCredentials* shared)
    : name_(redacted_url(name)) {
  const std::string_view scheme = url_scheme(name);
  if (scheme == "http" || scheme == "https") {
    parse_http(name);
  } else if (scheme == "s3") {
    parse_s3(name, environment, shared);
  } else if (scheme == "file") {
    throw invalid(name, "a file of this machine is named by its path, without file://");
  } else {
    throw invalid(
        name, fmt::format("URLs of the kind {}:// can't be read; http, https and s3 can", scheme));
  }
}

void UrlTarget::parse_http(const std::string& name) {
  const std::size_t begin = url_scheme(name).size() + 3;
  const std::size_t end = std::min(name.find_first_of("/?#", begin), name.size());
  host_ = name.substr(begin, end - begin);
  if (host_.find('@') != host_.npos) {
    throw invalid(name,
                  "the URL holds a password, which would show up in messages; write it into "
                  "~/.netrc instead");
  }
  if (host_.empty()) throw invalid(name, "the URL names no host");
  url_ = name.substr(0, name.find('#'));
  // Such a character would end the request's first line, or is sent as nobody meant it.
  for (const char c : url_) {
    if (c != '\x7f' && static_cast<unsigned char>(c) > ' ') continue;
    throw invalid(name, fmt::format("the URL holds {}; write it as %{:02X}",
                                    c == ' ' ? std::string("a space")
                                             : fmt::format("the control character {:#04x}",
                                                           static_cast<unsigned char>(c)),
                                    static_cast<unsigned char>(c)));
  }
}

void UrlTarget::parse_s3(const std::string& name, const Environment& environment,
                         SharedCredentials* shared) {
  const S3Name parts = S3Name::parse(name);
  bucket_ = parts.bucket;
  try {
    s3_ = read_s3_settings(environment, shared);
  } catch (Error& error) {
    throw error.at_file(name_);
  }
  std::string endpoint = s3_->endpoint;
  // A certificate for *.s3... does not hold for a bucket with dots, and other stores rarely have a
  // host for each bucket. Both are asked by path.
  const bool has_own_host = endpoint.empty() && bucket_.find('.') == bucket_.npos;
  if (endpoint.empty()) {
    endpoint = fmt::format("https://{}s3.{}.amazonaws.com", has_own_host ? bucket_ + "." : "",
                           s3_->region);
  }
  const std::string_view scheme = url_scheme(endpoint);
  if (scheme != "http" && scheme != "https") {
    throw invalid(name, fmt::format("the endpoint '{}' (AWS_ENDPOINT_URL) does not begin with "
                                    "https:// or http://",
                                    printable_endpoint(endpoint)));
  }
  if (endpoint.find_first_of("@?#") != endpoint.npos) {
    throw invalid(name,
                  fmt::format("the endpoint '{}' (AWS_ENDPOINT_URL) holds more than a host, a "
                              "port and a path; passwords and queries belong elsewhere",
                              printable_endpoint(endpoint)));
  }
  const std::size_t begin = scheme.size() + 3;
  const std::size_t slash = std::min(endpoint.find('/', begin), endpoint.size());
  host_ = host_header(scheme, std::string_view(endpoint).substr(begin, slash - begin));
  path_ = endpoint.substr(slash) + "/";
  if (!has_own_host) {
    path_ += percent_encode(bucket_, Slash::encode);
    if (!parts.key.empty()) path_ += "/";
  }
  path_ += percent_encode(parts.key, Slash::keep);
  url_ = endpoint.substr(0, slash) + path_;
}

std::string UrlTarget::describe_credentials() const {
  if (s3_ && s3_->provided)
    return fmt::format("the credentials {}", s3_->provided->access_key_id());
  return s3_ && s3_->credentials
             ? fmt::format("the credentials {}", s3_->credentials->access_key_id)
             : "no credentials";
}

HttpRequest UrlTarget::request(const HttpAsk& ask) const {
  HttpRequest request{url_, {"Accept-Encoding: identity"}};
  const auto add = [&request](const NamesAndValues& headers) {
    for (const auto& [name, value] : headers) {
      if (name != "host") request.headers.push_back(fmt::format("{}: {}", name, value));
    }
  };
  if (s3_ && !ask.query.empty()) request.url += "?" + canonical_query(ask.query);
  const auto credentials =
      s3_ && s3_->provided ? s3_->provided->now() : (s3_ ? s3_->credentials : std::nullopt);
  if (!credentials) {
    add(ask.headers);
    return request;
  }
  const std::string time = time_now();
  NamesAndValues headers = ask.headers;
  headers.emplace_back("host", host_);
  headers.emplace_back("x-amz-content-sha256", ask.body_sha256);
  headers.emplace_back("x-amz-date", time);
  if (!credentials->session_token.empty()) {
    headers.emplace_back("x-amz-security-token", credentials->session_token);
  }
  add(headers);
  request.headers.push_back(
      "Authorization: " +
      authorization(
          {.method = ask.method, .path = path_, .query = ask.query, .headers = std::move(headers)},
          *credentials, {.region = s3_->region, .time = time}));
  return request;
}

}  // namespace infeed::detail
