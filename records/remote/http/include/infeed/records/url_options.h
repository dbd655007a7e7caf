#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "infeed/error.h"

/// Why: shards often lie on a web server or in an object store. Wherever a file is named, a URL may
/// stand instead. These are the options of reading by URL; the defaults suit most.
///
///     infeed::RecordReader reader("s3://bucket/train-00000-of-00016.tfrecord");
///     infeed::RecordReader other("https://host/a.tfrecord.gz", {.url = {.ranges_in_flight = 8}});
///
/// http:// and https:// are read by ranges; redirects are followed, never from https to http. A
/// password comes from ~/.netrc (a redirect to another server doesn't get it), a proxy from the
/// usual variables. s3://bucket/key is read the same way, signed (AWS Signature Version 4).
///
/// For S3 the environment is read as AWS's tools do. Credentials are the first of:
/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; a web identity
/// (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN); section AWS_PROFILE (or "default") of
/// ~/.aws/credentials and ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE); the
/// container's service (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, _FULL_URI); the machine's (instance
/// metadata, unless AWS_EC2_METADATA_DISABLED=true). Credentials lent for some hours are renewed
/// while a file is read; the options below don't apply to the services that lend them.
/// AWS_NO_SIGN_REQUEST=1 reads public buckets without credentials. Also read: AWS_REGION,
/// AWS_DEFAULT_REGION; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL for stores other than AWS's.
///
/// Each range asks for the object that the first answer described (by ETag, or else date, and
/// size): an object that changes under way is an Error failed_precondition, never a mixture. A
/// range that fails in a way that may pass (a cut connection, a time limit, 429, 5xx) is asked for
/// again from the byte where it stopped.
///
/// Errors: not_found (404), permission_denied (401, 403, no credentials), unavailable (no
/// connection, 5xx), deadline_exceeded, failed_precondition (changed, no ranges, a certificate that
/// is refused), cancelled.
namespace infeed {

class SharedCredentials;
/// Makes a value for UrlOptions::credentials.
std::shared_ptr<SharedCredentials> share_credentials();

struct UrlOptions {
  /// Bytes that one request asks for. The first requests after opening or a jump are smaller, from
  /// 256 KiB on, because little may be wanted.
  std::size_t range_bytes = std::size_t{8} << 20;
  /// Number of requests ahead of the reader, at work or waiting to be read.
  unsigned ranges_in_flight = 4;
  /// Limit on the bytes of these requests. There is always room for one range.
  std::size_t bytes_in_flight_max = std::size_t{64} << 20;
  /// Number of times that a request is tried again without progress.
  unsigned retries = 5;
  /// Pause before the first retry. It doubles each time up to the limit; half of it is drawn at
  /// random.
  std::chrono::milliseconds retry_delay{200};
  std::chrono::milliseconds retry_delay_max{10'000};
  std::chrono::milliseconds connect_timeout{10'000};
  /// A request that brings no byte for this long is given up (and tried again).
  std::chrono::milliseconds stall_timeout{30'000};
  /// A request that brings fewer bytes a second than this, on average over each `rate_window`, is
  /// given up in the same way: a server must not hold a reader for days with a byte now and then.
  /// 0: any rate will do. All requests of a program share its link, so the default is low.
  std::size_t bytes_per_second_min = std::size_t{1} << 10;
  std::chrono::milliseconds rate_window{60'000};
  /// A range that takes longer than this part of the earlier ones took (at least `hedge_delay_min`)
  /// is asked for a second time; the bytes that come first count. 1 or more: never.
  double hedge_percentile = 0.95;
  std::chrono::milliseconds hedge_delay_min{200};
  /// The PEM file of certificate authorities. If empty, AWS_CA_BUNDLE, CURL_CA_BUNDLE,
  /// SSL_CERT_FILE or the system names it.
  std::string ca_file = {};
  /// Lent credentials, shared by all readers with copies of this pointer: a thousand shards then
  /// don't ask a thousand times. Null: each reader asks for its own. (The readers of a pipeline
  /// always share theirs.)
  std::shared_ptr<SharedCredentials> credentials = {};
  /// On a stop request, a reading call that waits for a server or a pipe ends with an Error
  /// cancelled. (Destroying a reader of a URL doesn't need this.)
  std::stop_token stop = {};
};

}  // namespace infeed
