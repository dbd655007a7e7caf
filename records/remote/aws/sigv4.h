#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Signs requests by AWS Signature Version 4.
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
namespace infeed::detail {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token = {};  ///< for temporary credentials; may be empty
};

using NamesAndValues = std::vector<std::pair<std::string, std::string>>;

struct SignedRequest {
  std::string_view method = "GET";
  std::string path;             ///< as it is sent, percent-encoded
  NamesAndValues query = {};    ///< not yet encoded
  NamesAndValues headers = {};  ///< signed headers: names in lower case, with host and x-amz-date
};

struct SignatureScope {
  std::string region;
  std::string service = "s3";
  std::string time;  ///< "20130524T000000Z", as in x-amz-date
};

/// SHA-256 of no bytes, in hexadecimal digits: the body of a GET.
inline constexpr std::string_view kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Returns the SHA-256 of a body in hexadecimal digits.
std::string sha256_text(std::string_view body);

/// Returns "name=value&...", encoded and sorted as it is signed. It must be sent exactly so.
std::string canonical_query(const NamesAndValues& query);

/// Returns the value of the header Authorization.
std::string authorization(SignedRequest request, const AwsCredentials& credentials,
                          const SignatureScope& scope);

}  // namespace infeed::detail
