#include "remote/aws/credential_provider.h"

#include <algorithm>
#include <arpa/inet.h>
#include <ctime>
#include <curl/curl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/file.h"
#include "infeed/records/files.h"
#include "io/url.h"
#include "remote/aws/service_request.h"
#include "remote/aws/xml.h"
#include "remote/http/curl_request.h"

namespace infeed::detail {
namespace {

using Time = std::chrono::system_clock::time_point;

/// Parses "2026-01-31T12:00:00.123+02:00", with or without parts of a second. AWS ends it with Z;
/// servers that are compatible with it may not. An empty text means never.
Time parse_expiration(const std::string& text, const std::string& url) {
  if (text.empty()) return Time::max();
  std::tm time{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest != nullptr && *rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  if (rest != nullptr && *rest != '\0') rest = ::strptime(rest, "%z", &time);
  if (rest == nullptr || *rest != '\0') {
    throw Error(ErrorCode::permission_denied,
                fmt::format("{} lends credentials that end at '{}', which is no time",
                            redacted_url(url), text));
  }
  const std::chrono::seconds east_of_utc(time.tm_gmtoff);
  const std::chrono::seconds since_1970 = std::chrono::seconds(::timegm(&time)) - east_of_utc;
  const auto last = std::chrono::floor<std::chrono::seconds>(Time::max().time_since_epoch());
  return since_1970.count() > 0 && since_1970 < last ? Time(since_1970) : Time::max();
}

/// Makes credentials of an answer. `text_of` returns the text under a name, empty where there is
/// none.
template <class TextOf>
ProvidedCredentials credentials_in(const ServiceAnswer& answer, const std::string& url,
                                   const char* token_name, TextOf text_of) {
  ProvidedCredentials provided{
      {text_of("AccessKeyId"), text_of("SecretAccessKey"), text_of(token_name)},
      parse_expiration(text_of("Expiration"), url)};
  if (answer.status == 200 && !provided.credentials.access_key_id.empty() &&
      !provided.credentials.secret_access_key.empty()) {
    return provided;
  }
  const std::string code = text_of("Code");
  std::string why = fmt::format("{}", answer.status);
  if (!code.empty()) why += " " + code;
  if (const std::string message = text_of("Message"); !message.empty()) why += ": " + message;
  // STS answers so with status 400.
  const bool may_pass = code.starts_with("Throttling") || code == "IDPCommunicationError";
  throw Error(may_pass ? ErrorCode::unavailable : ErrorCode::permission_denied,
              fmt::format("{} lends no credentials ({})", redacted_url(url), why));
}

ProvidedCredentials credentials_in_json(const ServiceAnswer& answer, const std::string& url) {
  const bool is_deep = detail::exceeds_json_limits(answer.text);
  const auto json =
      nlohmann::json::parse(is_deep ? "" : answer.text, nullptr, /*allow_exceptions=*/false);
  return credentials_in(answer, url, "Token", [&json](const char* name) -> std::string {
    const bool is_there = json.is_object() && json.contains(name) && json[name].is_string();
    return is_there ? json[name].get<std::string>() : "";
  });
}

/// Returns the token without line breaks at its end. Throws if it isn't one line, since it goes
/// into a header.
std::string require_line(std::string token, const std::string& from) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool is_line =
      std::none_of(token.begin(), token.end(), [](unsigned char c) { return c < ' '; });
  if (is_line && !token.empty()) return token;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the token in {} is {}", from, is_line ? "empty" : "no line of text"));
}

std::string read_token(const std::string& file) {
  std::string token;
  try {
    token = read_file(file);
  } catch (const Error& error) {
    // Readers would take not_found for a missing object, and leave out a good example.
    const bool is_missing = error.code() == ErrorCode::not_found;
    throw Error(is_missing ? ErrorCode::failed_precondition : error.code(),
                fmt::format("the token that credentials are lent for can't be read from '{}': {}",
                            file, error.message()));
  }
  return require_line(std::move(token), fmt::format("'{}'", file));
}

/// Takes a URL apart as the request itself will; empty where that fails.
std::string part_of_url(const std::string& url, CURLUPart part) {
  start_curl();
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> parts(::curl_url(),
                                                                    &::curl_url_cleanup);
  char* text = nullptr;
  if (parts == nullptr || ::curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      ::curl_url_get(parts.get(), part, &text, 0) != CURLUE_OK) {
    return {};
  }
  const std::unique_ptr<char, decltype(&::curl_free)> owned(text, &::curl_free);
  return text;
}

bool is_loopback(const std::string& host) {
  in_addr address{};
  return host == "localhost" || host == "[::1]" ||
         (::inet_pton(AF_INET, host.c_str(), &address) == 1 &&
          ::ntohl(address.s_addr) >> 24 == 127);
}

/// Refuses to send by http to other machines.
void require_own_host(const std::string& url, const char* variable) {
  const std::string scheme = part_of_url(url, CURLUPART_SCHEME);
  const std::string host = part_of_url(url, CURLUPART_HOST);
  if (scheme == "https") return;
  // Addresses of the services of ECS and EKS.
  const bool is_service =
      host == "169.254.170.2" || host == "169.254.170.23" || host == "[fd00:ec2::23]";
  if (scheme == "http" && (is_service || is_loopback(host))) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} asks for '{}'; it must begin with https://, or name this machine",
                          variable, redacted_url(url)));
}

/// Asks a provider that has lent credentials before. It is there, though nothing may answer now.
ProvidedCredentials ask_again(const CredentialProvider& provider) {
  try {
    return provider.ask();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw Error(ErrorCode::unavailable, error.message());
  }
}

}  // namespace

CredentialProvider web_identity_provider(const Environment& environment,
                                         const std::string& region) {
  const auto token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = environment("AWS_ROLE_ARN");
  if (!token_file) return {};
  if (!role) {
    throw Error(ErrorCode::invalid_argument,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN isn't; set both");
  }
  std::string url =
      environment("AWS_ENDPOINT_URL_STS")
          .value_or(environment("AWS_ENDPOINT_URL")
                        .value_or(fmt::format("https://sts.{}.amazonaws.com", region)));
  if (!url.ends_with('/')) url += '/';
  const std::string session = environment("AWS_ROLE_SESSION_NAME").value_or("infeed");
  const auto ask = [token_file = *token_file, role = *role, url, session] {
    const NamesAndValues form = {
        {"Action", "AssumeRoleWithWebIdentity"},
        {"Version", "2011-06-15"},
        {"RoleArn", role},
        {"RoleSessionName", session},
        {"WebIdentityToken", read_token(token_file)}};  // the file changes by the hour
    const ServiceAnswer answer =
        ask_service({.method = "POST",
                     .url = url,
                     .headers = {"Content-Type: application/x-www-form-urlencoded"},
                     .body = canonical_query(form),
                     .way = ServiceRequest::Way::by_proxy,
                     .connect_timeout = std::chrono::seconds(3),
                     .timeout = std::chrono::seconds(10)});
    return credentials_in(
        answer, fmt::format("{} (for the role {})", redacted_url(url), role), "SessionToken",
        [&](const char* name) { return xml_text(answer.text, name).value_or(""); });
  };
  return {fmt::format("{} {} {} {}", url, *role, session, *token_file), ask};
}

CredentialProvider container_provider(const Environment& environment) {
  const auto path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!path && !full) return {};
  const std::string url = path ? "http://169.254.170.2" + *path : *full;
  require_own_host(
      url, path ? "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" : "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const auto ask = [url, environment] {
    ServiceRequest request{.url = url};
    if (const auto file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
      request.headers.push_back("Authorization: " + read_token(*file));
    } else if (const auto token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
      request.headers.push_back("Authorization: " +
                                require_line(*token, "AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    }
    return credentials_in_json(ask_service(request), url);
  };
  return {url, ask};
}

CredentialProvider machine_provider(const Environment& environment) {
  const std::string disabled = environment("AWS_EC2_METADATA_DISABLED").value_or("false");
  if (disabled == "true" || disabled == "True" || disabled == "TRUE") return {};
  std::string place =
      environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
  while (place.ends_with('/')) place.pop_back();
  const auto ask = [place] {
    const ServiceAnswer session =
        ask_service({.method = "PUT",
                     .url = place + "/latest/api/token",
                     .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 300", "Content-Length: 0"},
                     .may_be_missing = true});
    if (session.status != 200) {
      throw Error(ErrorCode::permission_denied,
                  fmt::format("{} gives no session ({})", place, session.status));
    }
    const std::vector<std::string> headers = {"X-aws-ec2-metadata-token: " + session.text};
    const std::string roles = place + "/latest/meta-data/iam/security-credentials/";
    const ServiceAnswer role = ask_service({.url = roles, .headers = headers});
    const std::string name = role.text.substr(0, role.text.find_first_of("\r\n"));
    if (role.status != 200 || name.empty()) {
      throw Error(ErrorCode::permission_denied,
                  fmt::format("{} has no role for this machine ({})", place, role.status));
    }
    const std::string url = roles + percent_encode(name, Slash::encode);
    return credentials_in_json(ask_service({.url = url, .headers = headers}), url);
  };
  return {place, ask};
}

RenewedCredentials::RenewedCredentials(CredentialProvider provider)
    : provider_(std::move(provider)), held_(provider_.ask()) {}

AwsCredentials RenewedCredentials::now() {
  // AWS gives new credentials at least five minutes before the old ones end.
  constexpr std::chrono::minutes kBefore{5};
  constexpr std::chrono::seconds kPause{30};
  std::unique_lock lock(mutex_);
  const Clock::time_point time = Clock::now();
  if (time >= held_.expires) {
    held_ = ask_again(provider_);
  } else if (held_.expires - time < kBefore && time >= ask_again_) {
    ask_again_ = time + kPause;
    lock.unlock();
    std::optional<ProvidedCredentials> provided;
    try {
      provided = provider_.ask();
    } catch (const std::exception&) {  // the held ones are valid for some time yet
    }
    lock.lock();
    if (provided) held_ = std::move(*provided);
  }
  return held_.credentials;
}

std::string RenewedCredentials::access_key_id() const {
  const std::lock_guard lock(mutex_);
  return held_.credentials.access_key_id;
}

std::shared_ptr<RenewedCredentials> renewed_credentials(CredentialProvider provider,
                                                        SharedCredentials* shared) {
  return shared != nullptr ? shared->of(std::move(provider))
                           : std::make_shared<RenewedCredentials>(std::move(provider));
}

}  // namespace infeed::detail

namespace infeed {

std::shared_ptr<detail::RenewedCredentials> SharedCredentials::of(
    detail::CredentialProvider provider) {
  const std::lock_guard lock(mutex_);
  const auto found = by_provider_.find(provider.key);
  if (found != by_provider_.end()) return found->second;
  const std::string key = provider.key;
  auto renewed = std::make_shared<detail::RenewedCredentials>(std::move(provider));
  by_provider_.emplace(key, renewed);
  return renewed;
}

std::shared_ptr<SharedCredentials> share_credentials() {
  return std::make_shared<SharedCredentials>();
}

}  // namespace infeed
