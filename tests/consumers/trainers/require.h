#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

/// Ends the program unless `holds`.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "doesn't hold: %s\n", what.c_str());
  std::exit(1);
}

/// An empty folder below the current one.
inline std::filesystem::path fresh_folder(const std::string& name) {
  std::filesystem::remove_all(name);
  std::filesystem::create_directories(name);
  return std::filesystem::absolute(name);
}
