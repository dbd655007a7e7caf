#pragma once

#include <chrono>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

#include "infeed/error.h"
#include "remote/http/url_target.h"

namespace infeed::detail {

/// Why a request did not give what was wanted.
struct HttpFailure {
  ErrorCode code = ErrorCode::unavailable;
  std::string message = {};
  /// Asking again may help.
  bool may_pass = false;
  /// The server asked for this pause.
  std::optional<std::chrono::milliseconds> pause = std::nullopt;
};

struct HttpAnswer {
  long status = 0;
  std::string_view body = {};  ///< its beginning
  std::string bucket_region = {};
  std::string retry_after = {};
};

/// Of an answer with a status that isn't wanted.
HttpFailure failure_of_answer(const UrlTarget& target, const HttpAnswer& answer);

/// Of a request without a whole answer. `detail` is libcurl's own text.
HttpFailure failure_of_transport(const UrlTarget& target, CURLcode code, std::string_view detail);

}  // namespace infeed::detail
