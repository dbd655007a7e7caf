#include "remote/http/answer.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "fuzz.h"
#include "remote/aws/xml.h"

/// Answers of object stores. Whatever the heads claim, no byte is put where it was not asked for,
/// and none of another object is taken. A list of names in XML is parsed and comes to an end.
namespace infeed::fuzz {
namespace {

using detail::AnswerHead;
using detail::ByteRange;
using detail::ObjectIdentity;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void check_places(const AnswerHead& head, const ByteRange& asked,
                  const std::optional<ObjectIdentity>& known, std::uint64_t whole_bytes_max) {
  const detail::PlacedAnswer answer = place_answer(head, asked, known, whole_bytes_max);
  if (const auto* failure = std::get_if<detail::HttpFailure>(&answer)) {
    require(!failure->message.empty(), "a failure says what is wrong");
    return;
  }
  const auto* place = std::get_if<detail::Placement>(&answer);
  if (place == nullptr) {
    require(head.status != 200 && head.status != 206 && head.status != 416,
            "these are understood without a body");
    return;
  }
  const ByteRange& range = place->range;
  require(range.begin <= range.end && range.end <= place->identity.size_bytes,
          "a part lies inside the object");
  const bool is_part = range.begin == asked.begin && range.end <= asked.end;
  const bool is_whole = range.begin == 0 && range.bytes() == place->identity.size_bytes &&
                        range.bytes() <= whole_bytes_max;
  require(is_part || is_whole, "what was asked for comes, or all");
  if (!known) return;
  require(place->identity.size_bytes == known->size_bytes && place->identity.etag == known->etag,
          "it is the same object still");
}

void check_names(std::string_view document) {
  std::size_t names = 0;
  for (std::string_view left = document; detail::take_xml_text(left, "Key"); ++names) {
    require(left.size() + (names + 1) * std::string_view("<Key></Key>").size() <= document.size(),
            "each name takes its part of the document");
  }
  std::string escaped;
  for (const char c : document) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string{c};
  require(detail::xml_text(fmt::format("<L><Key>{}</Key></L>", escaped), "Key") == document,
          "a name comes back as it was");
}

}  // namespace

/// Flags, where the asked part begins and how long it is, how much of a whole is good enough; then
/// lines: Content-Range, ETag, Last-Modified; the rest is a document.
void check(Input input) {
  const std::uint8_t flags = input.byte();
  constexpr std::array<long, 4> kStatus = {200, 206, 416, 503};
  const std::uint64_t begin = input.byte();
  const ByteRange asked{begin, begin + 1 + input.byte()};
  const std::uint64_t whole_bytes_max = input.two_bytes();
  AnswerHead head{.status = kStatus.at(flags % 4)};
  if ((flags & 4) != 0) head.content_length = input.two_bytes();
  std::optional<ObjectIdentity> known;
  if ((flags & 8) != 0) known = ObjectIdentity{.size_bytes = input.byte(), .etag = "\"a\""};
  std::string_view rest = input.rest();
  head.content_range = take_line(rest);
  head.etag = take_line(rest);
  head.last_modified = take_line(rest);
  check_places(head, asked, known, whole_bytes_max);
  check_names(rest);
}

}  // namespace infeed::fuzz
