#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Reads the headers of a tar file one after the other, wherever the bytes come from.
///
/// POSIX.1-2001: ustar headers of 512 bytes, pax headers for long names and large sizes; also GNU's
/// long names and base-256 sizes. Sparse members, whose bytes aren't their content, are refused in
/// GNU's form and in the three pax forms
/// (https://www.gnu.org/software/tar/manual/html_node/Sparse-Formats.html).
namespace infeed::detail {

inline constexpr std::uint64_t kTarBlockBytes = 512;

/// True for a block of zeros, which ends an archive.
bool is_tar_end(std::string_view block);
/// True if the block's checksum is a header's.
bool has_tar_sum(std::string_view block);

/// Returns the bytes that a member of `bytes` takes in the file, with the padding of its last
/// block.
constexpr std::uint64_t padded_tar_bytes(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

class TarHeaders {
 public:
  struct Next {
    enum class Kind : std::uint8_t {
      member,       ///< a regular file
      link,         ///< a hard or symbolic link to `target`
      no_file,      ///< a device, a pipe, or a kind that nobody knows
      passed_over,  ///< a folder, or a header that says nothing of names and contents
      text,         ///< describes the next header: give it to take_text()
    };
    Kind kind = Kind::passed_over;
    std::uint64_t bytes = 0;  ///< bytes that follow, without padding
    std::string name = {};
    std::string target = {};
  };

  /// Takes a header's block, which isn't the end. Throws data_loss, without a place.
  Next take(std::string_view block);
  /// Takes the text that follows a header of kind text: at most a mebibyte.
  void take_text(std::string_view text);

 private:
  void take_pax(std::string_view key, std::string_view value);
  Next described(std::string_view block, std::uint64_t bytes) const;
  void forget();
  std::string name_of(std::string_view block) const;
  std::string target_of(std::string_view block) const;

  bool is_first_ = true;
  char text_kind_ = '\0';
  std::string long_name_;
  std::string long_target_;
  bool is_sparse_ = false;   ///< the pax header says that of the next member
  std::string sparse_name_;  ///< its name, since pax form 1.0 has a made-up one in the header
  std::optional<std::uint64_t> pax_size_;
};

}  // namespace infeed::detail
