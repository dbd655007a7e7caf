#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the headers of a tar file say, one after the other, wherever they come from.
///
/// POSIX.1-2001: ustar headers of 512 bytes, pax headers for long names and large sizes; GNU's long
/// names and base-256 sizes, too. Only regular files are members; folders and links are passed over.
namespace infeed::detail {

inline constexpr std::uint64_t kTarBlockBytes = 512;

/// A block of zeros ends the file.
bool is_tar_end(std::string_view block);

/// What a member of so many bytes takes, with what fills its last block up.
constexpr std::uint64_t padded_tar_bytes(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

class TarHeaders {
 public:
  struct Next {
    enum class Kind : std::uint8_t {
      member,
      text,  ///< says something about the next member: give it to take_text()
      passed_over,
    };
    Kind kind = Kind::passed_over;
    std::uint64_t bytes = 0;  ///< that follow, without what fills the last block up
    std::string name = {};    ///< of a member
  };

  /// Of a header's block, which isn't the end. Error data_loss, without a place.
  Next take(std::string_view block);
  /// At most a mebibyte.
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
