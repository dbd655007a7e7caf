#pragma once

#include <chrono>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

#include "infeed/error.h"
#include "remote/http/url_target.h"

namespace infeed::detail {

/// The reason why a request did not give the wanted bytes.
struct HttpFailure {
  ErrorCode code = ErrorCode::unavailable;
  std::string message = {};
  /// True if asking again may help.
  bool may_pass = false;
  /// Pause that the server asked for.
  std::optional<std::chrono::milliseconds> pause = std::nullopt;
};

struct HttpAnswer {
  long status = 0;
  std::string_view body = {};  ///< the beginning of the body
  std::string bucket_region = {};
  std::string retry_after = {};
};

/// Explains an answer with an unwanted status.
HttpFailure failure_of_answer(const UrlTarget& target, const HttpAnswer& answer);

/// Explains a request without a whole answer. `detail` is libcurl's own text. `is_known`: the host
/// was found before, so it will be found again.
HttpFailure failure_of_transport(const UrlTarget& target, CURLcode code, std::string_view detail,
                                 bool is_known);

}  // namespace infeed::detail
