#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "infeed/records/url_options.h"
#include "remote/aws/sigv4.h"

namespace infeed::detail {

class RenewedCredentials;

/// Who asks, and where: what AWS's own tools take from the environment, from ~/.aws and from the
/// machine. Without credentials of either kind requests aren't signed.
struct S3Settings {
  std::optional<AwsCredentials> credentials;
  std::shared_ptr<RenewedCredentials> provided = nullptr;  ///< by credential_provider.h
  std::string region = "us-east-1";
  std::string endpoint = {};  ///< "https://host:port" of another store than AWS's; may be empty
};

/// Value of a variable; nothing when it isn't set or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_of_process(const char* name);

/// May have to ask a service for credentials. Throws Error: permission_denied without any (unless
/// AWS_NO_SIGN_REQUEST says so), invalid_argument for half of them or a profile that isn't there,
/// failed_precondition for a profile that takes its credentials from elsewhere, unavailable where a
/// service has trouble. What is lent comes from `shared` unless that is null.
S3Settings read_s3_settings(const Environment& environment = &environment_of_process,
                            SharedCredentials* shared = nullptr);

}  // namespace infeed::detail
