#include "remote/http/answer.h"

#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"

namespace infeed::detail {
namespace {

bool is_strong(const std::string& etag) { return !etag.empty() && !etag.starts_with("W/"); }

std::string header_of(CURL* easy, const char* name) {
  struct curl_header* header = nullptr;
  if (::curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return {};
  return header->value;
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t value = 0;
  return parse_whole(digits, value) ? std::optional(value) : std::nullopt;
}

struct ContentRange {
  std::optional<ByteRange> range;  ///< empty for "*", in an answer 416
  std::uint64_t size_bytes = 0;
};

/// Parses "bytes 0-99/1234" or "bytes */1234".
std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto size = parse_number(text.substr(slash + 1));
  if (!size) return std::nullopt;
  const std::string_view part = text.substr(0, slash);
  if (part == "*") return ContentRange{std::nullopt, *size};
  const std::size_t dash = part.find('-');
  if (dash == part.npos) return std::nullopt;
  const auto first = parse_number(part.substr(0, dash));
  const auto last = parse_number(part.substr(dash + 1));
  if (!first || !last || *last < *first || *last >= *size) return std::nullopt;
  return ContentRange{ByteRange{*first, *last + 1}, *size};
}

HttpFailure unexpected(std::string message) {
  return {ErrorCode::failed_precondition, std::move(message)};
}

HttpFailure changed(std::string_view what, const auto& before, const auto& now) {
  return unexpected(
      fmt::format("the object changed while it was read: its {} was {}, now it is {}; read it "
                  "again",
                  what, before, now));
}

std::optional<HttpFailure> find_change(const ObjectIdentity& known, const ObjectIdentity& now) {
  if (known.etag != now.etag) return changed("ETag", known.etag, now.etag);
  if (known.size_bytes != now.size_bytes) {
    return changed("size", known.size_bytes, now.size_bytes);
  }
  if (known.etag.empty() && known.last_modified != now.last_modified) {
    return changed("date", known.last_modified, now.last_modified);
  }
  return std::nullopt;
}

PlacedAnswer placed(Placement placement, const std::optional<ObjectIdentity>& known) {
  if (known) {
    if (auto failure = find_change(*known, placement.identity)) return *failure;
  }
  return placement;
}

PlacedAnswer place_part(const AnswerHead& head, const ByteRange& asked,
                        const std::optional<ObjectIdentity>& known) {
  const auto content = parse_content_range(head.content_range);
  if (!content || !content->range) {
    return unexpected(
        fmt::format("the server sends a part (206) but does not say which, or of how many bytes: "
                    "Content-Range is '{}'",
                    head.content_range));
  }
  if (content->range->begin != asked.begin || content->range->end > asked.end) {
    return unexpected(fmt::format("the server sends bytes {} to {} where {} to {} were asked for",
                                  content->range->begin, content->range->end - 1, asked.begin,
                                  asked.end - 1));
  }
  if (head.content_length && *head.content_length > content->range->bytes()) {
    return unexpected(
        fmt::format("the server says that it sends bytes {} to {}, and sends {} bytes; perhaps a "
                    "proxy on the way changes its answers: ask the server itself",
                    content->range->begin, content->range->end - 1, *head.content_length));
  }
  return placed({*content->range, {content->size_bytes, head.etag, head.last_modified}}, known);
}

PlacedAnswer place_whole(const AnswerHead& head, const std::optional<ObjectIdentity>& known,
                         std::uint64_t whole_bytes_max) {
  if (!head.content_length || *head.content_length > whole_bytes_max) {
    const std::string size =
        head.content_length ? fmt::format("all {} bytes", *head.content_length) : "everything";
    return unexpected(
        fmt::format("the server does not know ranges: it sends {} (200) where a part was asked for "
                    "(206); serve the file by another server, or copy it to a disk first",
                    size));
  }
  const std::uint64_t size = *head.content_length;
  return placed({{0, size}, {size, head.etag, head.last_modified}}, known);
}

PlacedAnswer place_nothing(const AnswerHead& head, const ByteRange& asked,
                           const std::optional<ObjectIdentity>& known) {
  const auto content = parse_content_range(head.content_range);
  const bool is_empty = !known && asked.begin == 0 && content && content->size_bytes == 0;
  if (is_empty) return Placement{{0, 0}, {0, head.etag, head.last_modified}};
  if (known && content && content->size_bytes != known->size_bytes) {
    return changed("size", known->size_bytes, content->size_bytes);
  }
  return unexpected(
      fmt::format("the server cannot give bytes {} to {} (416){}; perhaps the object changed: read "
                  "it again",
                  asked.begin, asked.end - 1,
                  known ? fmt::format(" though it has {}", known->size_bytes) : ""));
}

}  // namespace

std::string ObjectIdentity::condition() const {
  if (is_strong(etag)) return "If-Match: " + etag;
  // A weak tag never matches here. It is compared with the tag of each answer instead.
  if (etag.empty() && !last_modified.empty()) return "If-Unmodified-Since: " + last_modified;
  return {};
}

AnswerHead AnswerHead::of(CURL* easy) {
  AnswerHead head;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &head.status);
  head.content_length = parse_number(header_of(easy, "Content-Length"));
  head.content_range = header_of(easy, "Content-Range");
  head.etag = header_of(easy, "ETag");
  head.last_modified = header_of(easy, "Last-Modified");
  head.retry_after = header_of(easy, "Retry-After");
  head.bucket_region = header_of(easy, "x-amz-bucket-region");
  return head;
}

PlacedAnswer place_answer(const AnswerHead& head, const ByteRange& asked,
                          const std::optional<ObjectIdentity>& known,
                          std::uint64_t whole_bytes_max) {
  switch (head.status) {
    case 200:
      // Some stores give a part, say which, and forget to say 206 (rclone's, for one).
      if (!head.content_range.empty()) return place_part(head, asked, known);
      return place_whole(head, known, whole_bytes_max);
    case 206:
      return place_part(head, asked, known);
    case 416:
      return place_nothing(head, asked, known);
    default:
      return std::monostate();
  }
}

}  // namespace infeed::detail
