#pragma once

#include <string>

#include "records/remote/http/http_server.h"

/// The answers of a cloud's machine to requests for its credentials.
namespace infeed::test {

inline constexpr const char* kFarAway = "2999-12-31T00:00:00Z";

inline std::string lent_json(const std::string& id, const std::string& expiration = kFarAway) {
  return R"({"Code": "Success", "AccessKeyId": ")" + id +
         R"(", "SecretAccessKey": "secret", "Token": "token", "Expiration": ")" + expiration +
         R"("})";
}

/// Answers as a machine's metadata service, version 2, which lends `answer`.
inline HttpReply metadata(const HttpRequestSeen& request, const std::string& answer) {
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  if (request.method == "PUT" && request.path == "/latest/api/token" &&
      !request.header("x-aws-ec2-metadata-token-ttl-seconds").empty()) {
    return {.body = "SESSION"};
  }
  if (request.header("x-aws-ec2-metadata-token") != "SESSION") return {.status = 401};
  if (request.path == roles) return {.body = "my-role"};
  if (request.path == roles + "my-role") return {.body = answer};
  return {.status = 404};
}

}  // namespace infeed::test
