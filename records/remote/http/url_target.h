#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "remote/aws/s3_settings.h"

namespace infeed::detail {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers = {};
};

/// The request for an object, before it is signed.
struct HttpAsk {
  std::string_view method = "GET";
  NamesAndValues query = {};    ///< for S3 only
  NamesAndValues headers = {};  ///< names in lower case; signed
  std::string body_sha256{kEmptySha256};
};

/// The object that a URL names, and the request for it: plain or signed.
///
/// Thread-safety: a value; requests may be made by any thread.
class UrlTarget {
 public:
  /// Takes "http://...", "https://..." or "s3://bucket/key". Throws invalid_argument for other
  /// kinds and for a missing part, and the errors of read_s3_settings().
  explicit UrlTarget(const std::string& name,
                     const Environment& environment = &environment_of_process,
                     SharedCredentials* shared = nullptr);

  /// A request to S3 is signed now, so it must be sent soon. Throws where lent credentials are over
  /// and no new ones can be had.
  HttpRequest request(const HttpAsk& ask) const;
  HttpRequest get(const NamesAndValues& query = {}) const { return request({.query = query}); }

  /// Name for messages, without secrets.
  const std::string& name() const { return name_; }
  bool is_s3() const { return s3_.has_value(); }
  /// Host of the URL that is asked: "host:port".
  const std::string& host() const { return host_; }
  const std::string& region() const { return s3_->region; }
  const std::string& bucket() const { return bucket_; }
  bool has_provided_credentials() const { return s3_ && s3_->provided; }
  /// Returns "the credentials AKID..." or "no credentials".
  std::string describe_credentials() const;

 private:
  void parse_http(const std::string& name);
  void parse_s3(const std::string& name, const Environment& environment, SharedCredentials* shared);

  std::string name_;
  std::string url_;
  std::string host_;
  std::string path_;
  std::string bucket_;
  std::optional<S3Settings> s3_;
};

/// Splits "s3://bucket/key" into "bucket" and "key"; the key may be empty. Throws invalid_argument.
struct S3Name {
  std::string bucket;
  std::string key;
  static S3Name parse(const std::string& name);
};

}  // namespace infeed::detail
