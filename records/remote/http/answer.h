#pragma once

#include <cstdint>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <variant>

#include "remote/http/http_failure.h"

namespace infeed::detail {

/// Which object it is that is read; the same one from the first answer to the last.
struct ObjectIdentity {
  std::uint64_t size_bytes = 0;
  std::string etag = {};
  std::string last_modified = {};

  /// The header that makes a server refuse to send another one; empty when there is none.
  std::string condition() const;
};

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< behind the last byte
  std::uint64_t bytes() const { return end - begin; }
};

/// What stands before the body.
struct AnswerHead {
  long status = 0;
  std::optional<std::uint64_t> content_length = std::nullopt;
  std::string content_range = {};
  std::string etag = {};
  std::string last_modified = {};
  std::string retry_after = {};
  std::string bucket_region = {};

  /// Of a request whose head has arrived.
  static AnswerHead of(CURL* easy);
};

/// Where the bytes of the body belong.
struct Placement {
  ByteRange range;
  ObjectIdentity identity;
};

/// Nothing of both: the status alone says what is wrong, with the body (failure_of_answer).
using PlacedAnswer = std::variant<std::monostate, Placement, HttpFailure>;

/// Of an answer to a request for `asked`, of an object that is known already or not yet. A server
/// that sends the whole instead is good enough while that has at most `whole_bytes_max`.
PlacedAnswer place_answer(const AnswerHead& head, const ByteRange& asked,
                          const std::optional<ObjectIdentity>& known,
                          std::uint64_t whole_bytes_max);

}  // namespace infeed::detail
