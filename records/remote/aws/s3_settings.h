#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "infeed/records/url_options.h"
#include "remote/aws/sigv4.h"

namespace infeed::detail {

class RenewedCredentials;

/// Credentials and place for requests, which AWS's own tools take from the environment, from ~/.aws
/// and from the machine. Without credentials of either kind requests aren't signed.
struct S3Settings {
  std::optional<AwsCredentials> credentials;
  std::shared_ptr<RenewedCredentials> provided = nullptr;  ///< lent, by credential_provider.h
  std::string region = "us-east-1";
  std::string endpoint = {};  ///< "https://host:port" of a store other than AWS's; may be empty
};

/// Returns the value of a variable. Empty when it isn't set or is an empty text.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_of_process(const char* name);

/// Reads the settings, and may ask a service for credentials. Lent credentials come from `shared`
/// unless it is null. Throws permission_denied without credentials (unless AWS_NO_SIGN_REQUEST is
/// set), invalid_argument for half of them or a missing profile, failed_precondition for a profile
/// that takes its credentials from elsewhere, unavailable where a service has trouble.
S3Settings read_s3_settings(const Environment& environment = &environment_of_process,
                            SharedCredentials* shared = nullptr);

}  // namespace infeed::detail
