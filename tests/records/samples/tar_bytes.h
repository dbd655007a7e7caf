#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace infeed::test {

/// Returns a ustar header and the member's content, filled up to whole blocks.
inline std::string tar_member(const std::string& name, const std::string& content, char kind = '0',
                              const std::string& target = "") {
  std::string header(512, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", content.size()));
  put(148, "        ");
  header[156] = kind;
  put(157, target);
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

/// Returns a pax header that says so of the next member.
inline std::string tar_pax(const std::vector<std::pair<std::string, std::string>>& said) {
  std::string text;
  for (const auto& [key, value] : said) {
    const std::size_t bytes = key.size() + value.size() + 3;  // and the digits
    std::size_t size = bytes + 1;
    while (std::to_string(size).size() + bytes != size) ++size;
    text += fmt::format("{} {}={}\n", size, key, value);
  }
  return tar_member("pax", text, 'x');
}

inline const std::string& tar_end() {
  static const std::string kEnd(1024, '\0');
  return kEnd;
}

inline std::string tar_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string file;
  for (const auto& [name, content] : members) file += tar_member(name, content);
  return file + tar_end();
}

}  // namespace infeed::test
