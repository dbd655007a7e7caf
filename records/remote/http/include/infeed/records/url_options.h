#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "infeed/error.h"

/// Why: shards often lie on a web server or in an object store. Wherever a file is named, a URL may
/// stand instead; these are the knobs of reading by URL, all with a default that suits most.
///
///     infeed::RecordReader reader("s3://bucket/train-00000-of-00016.tfrecord");
///     infeed::RecordReader other("https://host/a.tfrecord.gz", {.url = {.ranges_in_flight = 8}});
///
/// http:// and https:// are read by ranges; redirects are followed, never from https to http. A
/// password comes from ~/.netrc (no redirect to another server takes one along), a proxy from the usual
/// variables. s3://bucket/key is read the same way, signed (AWS Signature Version 4).
///
/// For S3 the environment is read as AWS's tools do. Credentials, the first of:
/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; a web identity
/// (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN); section AWS_PROFILE (or "default") of
/// ~/.aws/credentials and ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE); the
/// container's service (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, _FULL_URI); the machine's (instance
/// metadata, unless AWS_EC2_METADATA_DISABLED=true). Those that are lent for some hours are renewed
/// while a file is read; whoever lends them is asked without regard to the knobs below.
/// AWS_NO_SIGN_REQUEST=1 reads public buckets without any. Besides,
/// AWS_REGION, AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL for other stores than
/// AWS's.
///
/// Each range asks again for what the first answer said of the object (ETag, or else date, and
/// size): an object that changes under way is an Error failed_precondition, never a mixture. A
/// range that fails in a way that may pass (a cut connection, a time limit, 429, 5xx) is asked for
/// again from the byte where it stopped.
///
/// Errors: not_found (404), permission_denied (401, 403, no credentials), unavailable (no
/// connection, 5xx), deadline_exceeded, failed_precondition (changed, no ranges, a certificate that
/// is refused), cancelled.
namespace infeed {

class SharedCredentials;
/// For UrlOptions::credentials.
std::shared_ptr<SharedCredentials> share_credentials();

struct UrlOptions {
  /// What one request asks for. The first ones after opening or a jump are smaller, from 256 KiB
  /// on, because little may be wanted.
  std::size_t range_bytes = std::size_t{8} << 20;
  /// Requests ahead of the reader, at work or waiting to be read.
  unsigned ranges_in_flight = 4;
  /// Limit on the memory of these; one range there always is.
  std::size_t bytes_in_flight_max = std::size_t{64} << 20;
  /// How often a request is tried again without having come further.
  unsigned retries = 5;
  /// Before the first retry; doubled each time up to the limit, and half of it drawn at random.
  std::chrono::milliseconds retry_delay{200};
  std::chrono::milliseconds retry_delay_max{10'000};
  std::chrono::milliseconds connect_timeout{10'000};
  /// A request that brings no byte for so long is given up (and tried again).
  std::chrono::milliseconds stall_timeout{30'000};
  /// A range that takes longer than this part of the earlier ones took (at least `hedge_delay_min`)
  /// is asked for a second time; what comes first counts. 1 or more: never.
  double hedge_percentile = 0.95;
  std::chrono::milliseconds hedge_delay_min{200};
  /// The PEM file of certificate authorities. If it is empty, AWS_CA_BUNDLE, CURL_CA_BUNDLE,
  /// SSL_CERT_FILE or the system says which it is.
  std::string ca_file = {};
  /// Credentials that were lent, for all readers that are given copies of this pointer: a thousand
  /// shards then don't ask for them a thousand times. Null: each asks for its own. (The readers of
  /// a pipeline always share theirs.)
  std::shared_ptr<SharedCredentials> credentials = {};
  /// A reading call that waits ends with an Error cancelled. (Destroying a reader doesn't need
  /// this.)
  std::stop_token stop = {};
};

}  // namespace infeed
