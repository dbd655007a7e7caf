#include "remote/aws/xml.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace infeed::detail {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};

std::string resolved(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.starts_with(entity)) continue;
      c = meaning;
      taken = entity.size();
    }
    plain += c;
    text.remove_prefix(taken);
  }
  return plain;
}

}  // namespace

std::optional<std::string> take_xml_text(std::string_view& document, std::string_view name) {
  const std::string opening = fmt::format("<{}>", name);
  const std::string closing = fmt::format("</{}>", name);
  const std::size_t begin = document.find(opening);
  if (begin == document.npos) return std::nullopt;
  const std::size_t end = document.find(closing, begin);
  if (end == document.npos) return std::nullopt;
  const std::size_t text = begin + opening.size();
  std::string found = resolved(document.substr(text, end - text));
  document.remove_prefix(end + closing.size());
  return found;
}

std::optional<std::string> xml_text(std::string_view document, std::string_view name) {
  return take_xml_text(document, name);
}

}  // namespace infeed::detail
