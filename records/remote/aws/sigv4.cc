#include "remote/aws/sigv4.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdexcept>

#include "io/url.h"

namespace infeed::detail {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string as_hexadecimal(const Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  }
  return text;
}

Digest sha256(std::string_view text) {
  Digest digest{};
  ::SHA256(as_bytes(text), text.size(), digest.data());
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(text), text.size(),
             digest.data(), &size) == nullptr ||
      size != digest.size()) {
    throw std::runtime_error("OpenSSL cannot compute HMAC-SHA256");
  }
  return digest;
}

/// Makes one space of each run of spaces, and drops those at the ends.
std::string with_single_spaces(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

std::string sha256_text(std::string_view body) { return as_hexadecimal(sha256(body)); }

std::string canonical_query(const NamesAndValues& query) {
  NamesAndValues encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encode(name, Slash::encode), percent_encode(value, Slash::encode));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  }
  return text;
}

std::string authorization(SignedRequest request, const AwsCredentials& credentials,
                          const SignatureScope& scope) {
  std::sort(request.headers.begin(), request.headers.end());
  std::string headers;
  std::string names;
  std::string_view content_sha256 = kEmptySha256;
  for (const auto& [name, value] : request.headers) {
    headers += fmt::format("{}:{}\n", name, with_single_spaces(value));
    names += (names.empty() ? "" : ";") + name;
    if (name == "x-amz-content-sha256") content_sha256 = value;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path,
                  canonical_query(request.query), headers, names, content_sha256);
  const std::string day = scope.time.substr(0, 8);
  const std::string place = fmt::format("{}/{}/{}/aws4_request", day, scope.region, scope.service);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", scope.time, place,
                                          as_hexadecimal(sha256(canonical)));
  std::string key = "AWS4" + credentials.secret_access_key;
  for (const std::string_view part :
       {std::string_view(day), std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")}) {
    key = as_text(hmac_sha256(key, part));
  }
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                     credentials.access_key_id, place, names,
                     as_hexadecimal(hmac_sha256(key, to_sign)));
}

}  // namespace infeed::detail
