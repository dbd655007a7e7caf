#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Returns the text inside the first <name> of an XML document, with entities resolved, and cuts
/// `document` behind it. The tag must have no attributes, as in documents of object stores.
std::optional<std::string> take_xml_text(std::string_view& document, std::string_view name);
std::optional<std::string> xml_text(std::string_view document, std::string_view name);

}  // namespace infeed::detail
