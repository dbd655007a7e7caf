#include "infeed/detail/format_version.h"

#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"

namespace infeed::detail {

std::uint32_t format_version(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.size() == name.size() || line[name.size()] != ' ') return 0;
  std::uint32_t version = 0;
  return parse_whole(line.substr(name.size() + 1), version) ? version : 0;
}

std::string later_format_text(std::string_view what, std::uint64_t found, std::uint64_t known) {
  return fmt::format(
      "{} has format version {}, and this infeed knows versions up to {}; use the infeed that "
      "wrote it, or a newer one",
      what, found, known);
}

Error later_format(std::string_view what, std::uint64_t found, std::uint64_t known,
                   std::string_view otherwise) {
  std::string text = later_format_text(what, found, known);
  if (!otherwise.empty()) text.append(", or ").append(otherwise);
  return Error(ErrorCode::failed_precondition, std::move(text));
}

}  // namespace infeed::detail
