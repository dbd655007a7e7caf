#pragma once

#include <cstdint>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <variant>

#include "remote/http/http_failure.h"

namespace infeed::detail {

/// Identifies the object that is read, the same from the first answer to the last.
struct ObjectIdentity {
  std::uint64_t size_bytes = 0;
  std::string etag = {};
  std::string last_modified = {};

  /// Returns the header that makes a server refuse to send another object; empty when there is
  /// none.
  std::string condition() const;
};

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< behind the last byte
  std::uint64_t bytes() const { return end - begin; }
};

/// The head of an answer, which comes before the body.
struct AnswerHead {
  long status = 0;
  std::optional<std::uint64_t> content_length = std::nullopt;
  std::string content_range = {};
  std::string etag = {};
  std::string last_modified = {};
  std::string retry_after = {};
  std::string bucket_region = {};

  /// Returns the head of a request's answer, once it has arrived.
  static AnswerHead of(CURL* easy);
};

/// The place of the body's bytes in the object.
struct Placement {
  ByteRange range;
  ObjectIdentity identity;
};

/// The monostate means that the status is an error, which the body explains (failure_of_answer).
using PlacedAnswer = std::variant<std::monostate, Placement, HttpFailure>;

/// Places the answer to a request for `asked`. `known` identifies the object if it is known
/// already. A server may send the whole object instead if that has at most `whole_bytes_max`.
PlacedAnswer place_answer(const AnswerHead& head, const ByteRange& asked,
                          const std::optional<ObjectIdentity>& known,
                          std::uint64_t whole_bytes_max);

}  // namespace infeed::detail
