#include "convert/images/class_list.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include <infeed/error.h>
#include <infeed/records/file.h>

#include "convert/manifest.h"

namespace infeed::tools {
namespace {

[[noreturn]] void refuse_list(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, what).at_file(file);
}

std::vector<std::string> split_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::string> read_class_list(const std::string& file) {
  const std::string text = read_stream(file);
  const bool is_manifest = text.starts_with('{');
  std::vector<std::string> classes = is_manifest ? read_manifest(file).classes : split_lines(text);
  if (classes.empty()) {
    refuse_list(file, is_manifest ? "this manifest names no classes: it is of no folder of images"
                                  : "no classes are listed: a class a line is expected");
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].empty()) {
      refuse_list(file, fmt::format("line {} is empty, but a class a line is expected", i + 1));
    }
    if (seen.insert(classes[i]).second) continue;
    refuse_list(file,
                fmt::format("the class '{}' comes twice, so its label is unclear", classes[i]));
  }
  return classes;
}

std::string describe_classes(const std::vector<std::string>& classes) {
  constexpr std::size_t kShownMax = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(classes.size(), kShownMax); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", i, classes[i]);
  }
  if (classes.size() > kShownMax) text += fmt::format(", ... ({} in all)", classes.size());
  return text;
}

}  // namespace infeed::tools
