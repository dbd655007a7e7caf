#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// The text inside the first <name> of an XML document without attributes there, as object stores
/// send them; entities are resolved. `document` is cut behind it.
std::optional<std::string> take_xml_text(std::string_view& document, std::string_view name);
std::optional<std::string> xml_text(std::string_view document, std::string_view name);

}  // namespace infeed::detail
