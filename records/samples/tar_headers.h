#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Reads the headers of a tar file one after the other, wherever the bytes come from.
///
/// POSIX.1-2001: ustar headers of 512 bytes, pax headers for long names and large sizes; also GNU's
/// long names and base-256 sizes. Only regular files are members; folders and links are passed
/// over.
namespace infeed::detail {

inline constexpr std::uint64_t kTarBlockBytes = 512;

/// True for a block of zeros, which ends the file.
bool is_tar_end(std::string_view block);

/// Returns the bytes that a member of `bytes` takes in the file, with the padding of its last
/// block.
constexpr std::uint64_t padded_tar_bytes(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

class TarHeaders {
 public:
  struct Next {
    enum class Kind : std::uint8_t {
      member,
      text,  ///< describes the next member: give it to take_text()
      passed_over,
    };
    Kind kind = Kind::passed_over;
    std::uint64_t bytes = 0;  ///< bytes that follow, without padding
    std::string name = {};    ///< name of a member
  };

  /// Takes a header's block, which isn't the end. Throws data_loss, without a place.
  Next take(std::string_view block);
  /// Takes the text that follows a header of kind text: at most a mebibyte.
  void take_text(std::string_view text);

 private:
  void forget();
  std::string name_of(std::string_view block) const;

  bool is_first_ = true;
  char text_kind_ = '\0';
  std::string long_name_;
  std::optional<std::uint64_t> pax_size_;
};

}  // namespace infeed::detail
