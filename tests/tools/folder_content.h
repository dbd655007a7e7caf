#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "temporary_folder.h"

namespace infeed::test {

/// Returns every file below `folder`, hidden ones too, by its path in it.
inline std::map<std::string, std::string> folder_content(const std::string& folder) {
  std::map<std::string, std::string> content;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    content[name] = read_whole(entry.path().string());
  }
  return content;
}

/// Returns the difference for a message, without the contents themselves.
inline std::string difference(const std::map<std::string, std::string>& expected,
                              const std::map<std::string, std::string>& found) {
  std::string text;
  for (const auto& [name, bytes] : expected) {
    const auto there = found.find(name);
    if (there == found.end()) {
      text += name + " is missing\n";
    } else if (there->second != bytes) {
      text += name + " has other bytes\n";
    }
  }
  for (const auto& [name, bytes] : found) {
    if (!expected.contains(name)) text += name + " is too many\n";
  }
  return text;
}

}  // namespace infeed::test
