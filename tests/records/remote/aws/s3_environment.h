#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace infeed::test {

/// Sets the variables for a store at `endpoint`, while it lives, and hides the user's own.
class S3Environment {
 public:
  enum class Credentials { some, none };

  explicit S3Environment(const std::string& endpoint, Credentials credentials = Credentials::some) {
    set("AWS_ENDPOINT_URL", endpoint);
    set("AWS_ENDPOINT_URL_S3", "");
    set("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials");
    set("AWS_CONFIG_FILE", "/nowhere/config");
    set("AWS_PROFILE", "");
    set("AWS_REGION", "us-east-1");
    set("AWS_SESSION_TOKEN", "");
    set("AWS_NO_SIGN_REQUEST", "");
    set("AWS_EC2_METADATA_DISABLED", "true");
    set("AWS_WEB_IDENTITY_TOKEN_FILE", "");
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "");
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "");
    set("AWS_ACCESS_KEY_ID", credentials == Credentials::some ? "AKIDTEST" : "");
    set("AWS_SECRET_ACCESS_KEY", credentials == Credentials::some ? "secret" : "");
  }
  ~S3Environment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  S3Environment(const S3Environment&) = delete;
  S3Environment& operator=(const S3Environment&) = delete;

  void set(const std::string& name, const std::string& value) {
    const char* const now = std::getenv(name.c_str());
    before_.emplace(name, now == nullptr ? std::nullopt : std::optional<std::string>(now));
    ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace infeed::test
