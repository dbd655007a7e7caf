#pragma once

#include <string>
#include <vector>

/// Why: labels number classes. Two folders that are converted one after the other (train, then
/// validation) have the same labels only if both have the same list.
namespace infeed::tools {

/// Reads the classes from the manifest of a converted set, or from a text with a class a line, in
/// the order of their labels. Throws invalid_argument for a list without classes, with one twice, or
/// with an empty line; the errors of reading a file and a manifest.
std::vector<std::string> read_class_list(const std::string& file);

/// Returns "0 ant, 1 bee, 2 cat", the first ones of many.
std::string describe_classes(const std::vector<std::string>& classes);

}  // namespace infeed::tools
