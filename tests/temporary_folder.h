#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace infeed {

namespace fs = std::filesystem;

inline std::string read_whole(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_whole(const std::string& file, std::string_view bytes) {
  // Emptying a file that holds data makes ext4 put the new data on the disk at once: 5 ms.
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) ::unlink(file.c_str());
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Writes over bytes of a file, which stays the same file.
inline void write_at(const std::string& file, std::size_t at, std::string_view bytes) {
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(at))
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Changes some bits of a file's byte.
inline void flip_bits(const std::string& file, std::size_t at, char bits = 1) {
  std::string bytes = read_whole(file);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ bits);
  write_whole(file, bytes);
}

/// A folder for one test; removed afterwards.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent = fs::temp_directory_path()) {
    std::string name = (parent / "infeed-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(std::string_view name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

  /// Writes a whole file, in folders that are made as needed, and returns its name.
  std::string write(std::string_view name, std::string_view bytes) const {
    fs::create_directories((path_ / name).parent_path());
    write_whole(file(name), bytes);
    return file(name);
  }

 private:
  fs::path path_;
};

}  // namespace infeed
