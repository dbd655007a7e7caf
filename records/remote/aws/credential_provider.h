#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "infeed/records/url_options.h"
#include "remote/aws/s3_settings.h"
#include "remote/aws/sigv4.h"

/// Why: on machines of a cloud nobody writes keys into files. The machine, the container or the
/// cluster's account lends a program credentials that hold for some hours, and gives new ones
/// before they end. A training that runs for days must ask again.
///
/// | provider                    | found by                                                  |
/// |-----------------------------|-----------------------------------------------------------|
/// | AWS STS, for a web identity | AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (Kubernetes) |
/// | the container's service     | AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI       |
/// | the machine's (version 2)   | always, unless AWS_EC2_METADATA_DISABLED=true             |
///
/// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
namespace infeed::detail {

struct ProvidedCredentials {
  AwsCredentials credentials;
  std::chrono::system_clock::time_point expires;
};

struct CredentialProvider {
  std::string key;  ///< providers with the same key give the same credentials
  /// Asks for new credentials. Throws permission_denied when there are none, unavailable when there
  /// may be some soon, not_found when this is no machine of a cloud.
  std::function<ProvidedCredentials()> ask;

  explicit operator bool() const { return ask != nullptr; }
};

/// Return an empty provider where the environment names none. Throw invalid_argument for values
/// that can't be meant.
CredentialProvider web_identity_provider(const Environment& environment, const std::string& region);
CredentialProvider container_provider(const Environment& environment);
CredentialProvider machine_provider(const Environment& environment);

/// Keeps lent credentials valid: in their last five minutes now() tries to get new ones.
///
/// Thread-safety: any threads. Now and then a thread waits for the provider: milliseconds, or up to
/// 6 seconds (STS: 10) when the provider has trouble.
class RenewedCredentials {
 public:
  /// Asks at once, and throws the provider's errors.
  explicit RenewedCredentials(CredentialProvider provider);

  /// Returns valid credentials. Throws the provider's errors once the credentials given before are
  /// over, but unavailable for not_found: the provider was there.
  AwsCredentials now();
  /// Key id of the last credentials.
  std::string access_key_id() const;

 private:
  using Clock = std::chrono::system_clock;

  const CredentialProvider provider_;
  mutable std::mutex mutex_;  // guards the members behind it
  ProvidedCredentials held_;
  Clock::time_point ask_again_ = {};  // one thread asks then; the others use the held ones
};

/// Returns the credentials of `shared`, or new ones if it is null.
std::shared_ptr<RenewedCredentials> renewed_credentials(CredentialProvider provider,
                                                        SharedCredentials* shared);

}  // namespace infeed::detail

namespace infeed {

/// Lent credentials by provider. Thread-safety: any threads; while one asks a provider for the
/// first time the others wait.
class SharedCredentials {
 public:
  std::shared_ptr<detail::RenewedCredentials> of(detail::CredentialProvider provider);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<detail::RenewedCredentials>> by_provider_;
};

}  // namespace infeed
