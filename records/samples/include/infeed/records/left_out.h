#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Why: folders and archives hold things that are no data: notes, thumbnails, what a system put
/// beside each file. Readers leave them out, and list them here, so that nothing is missing without
/// a word.
///
///     const infeed::ClassFolder found = infeed::find_class_folder("train");
///     if (const infeed::Omission& hidden = found.left_out[infeed::LeftOut::hidden];
///         hidden.count > 0) {
///       std::printf("%s is hidden\n", hidden.first.front().c_str());
///     }
namespace infeed {

/// The reason why something was left out.
enum class LeftOut : std::uint8_t {
  other_name,      ///< files not wanted by their names; members of a tar without an extension
  beside_classes,  ///< wanted files beside the classes' folders
  hidden,          ///< hidden files and folders: those whose names begin with a dot
  no_file,         ///< pipes, sockets, devices
  loop,            ///< links to a folder that they lie in
  empty_class,     ///< folders without files, which get no label
};
inline constexpr std::size_t kLeftOutKinds = 6;

struct Omission {
  std::uint64_t count = 0;
  std::vector<std::string> first = {};  ///< three names at most
};

/// An Omission for each reason.
class Omissions {
 public:
  const Omission& operator[](LeftOut why) const { return all_.at(static_cast<std::size_t>(why)); }
  void add(LeftOut why, std::string_view name);
  void add(const Omissions& others);

 private:
  std::array<Omission, kLeftOutKinds> all_;
};

}  // namespace infeed
