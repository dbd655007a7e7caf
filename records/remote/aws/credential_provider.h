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
/// before they end; a training that runs for days must ask again.
///
/// | lender                        | found by                                                     |
/// |-------------------------------|--------------------------------------------------------------|
/// | AWS STS, for a web identity   | AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (Kubernetes)    |
/// | the container's service       | AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI          |
/// | the machine's (version 2)     | always, unless AWS_EC2_METADATA_DISABLED=true                |
///
/// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
namespace infeed::detail {

struct LentCredentials {
  AwsCredentials credentials;
  std::chrono::system_clock::time_point expires;
};

struct Lender {
  std::string key;  ///< two with the same give the same
  /// Asks for new ones. Throws Error: permission_denied or not_found when there are none,
  /// unavailable when there may be some soon.
  std::function<LentCredentials()> ask;

  explicit operator bool() const { return ask != nullptr; }
};

/// Empty where the environment names none. Throws invalid_argument when what it says can't be
/// meant.
Lender web_identity_lender(const Environment& environment, const std::string& region);
Lender container_lender(const Environment& environment);
Lender machine_lender(const Environment& environment);

/// Credentials that hold, whenever they are asked for: in their last five minutes it tries to get
/// new ones.
///
/// Thread-safety: any threads. Now and then one has to wait for the lender: milliseconds, or up to
/// 6 seconds (STS: 10) when that has trouble.
class RenewedCredentials {
 public:
  /// Asks at once, and throws what the lender throws.
  explicit RenewedCredentials(Lender lender);

  /// Throws what the lender throws once what it gave before is over.
  AwsCredentials now();
  /// Of the last ones.
  std::string access_key_id() const;

 private:
  using Clock = std::chrono::system_clock;

  const Lender lender_;
  mutable std::mutex mutex_;  // of what follows
  LentCredentials held_;
  Clock::time_point ask_again_ = {};  // one thread asks, the others take what there is
};

/// Of `shared`, which may be null, or new ones.
std::shared_ptr<RenewedCredentials> renewed_credentials(Lender lender, SharedCredentials* shared);

}  // namespace infeed::detail

namespace infeed {

/// Thread-safety: any threads; while one asks a lender for the first time the others wait.
class SharedCredentials {
 public:
  std::shared_ptr<detail::RenewedCredentials> of(detail::Lender lender);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<detail::RenewedCredentials>> by_lender_;
};

}  // namespace infeed
