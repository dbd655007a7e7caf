#pragma once

#include <functional>
#include <string>
#include <vector>

/// Why: a file that one version wrote is read by all later ones. tests/versions has a folder for
/// each version with a folder for each format: what that version wrote, small.
namespace infeed::test {

struct KeptFormat {
  std::string name;  ///< and that of its folder
  /// Writes the format's files into a folder that exists.
  std::function<void(const std::string& folder)> write;
  /// Reads them and expects what write() put there. It may add files.
  std::function<void(const std::string& folder)> check;
};

std::vector<KeptFormat> kept_formats();

}  // namespace infeed::test
