#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/record.h"

/// Why: a folder a class is how people keep images, as torchvision's ImageFolder and Keras'
/// image_dataset_from_directory expect them. People made it, and it holds what they forgot: notes,
/// thumbnails, links that lead in a circle. What is taken and what is left out must both be seen.
///
///     const infeed::ClassFolder found =
///         infeed::find_class_folder("train", {.extensions = {"jpg", "png"}});
///     for (const infeed::ClassFile& file : found.files) {
///       use(found.path_of(file), found.classes[std::size_t(file.label)]);
///     }
///
/// A folder below the given one is a class, with the files in it and in the folders below. All is in
/// the order of its bytes, on every machine. Links are followed, but not to a folder that they lie
/// in; pipes, sockets and devices are never opened. A link to a file that isn't there is a file that
/// can't be read.
namespace infeed {

struct ClassFile {
  std::string name;  ///< below the folder: "cat/7.png"
  std::int64_t label = 0;
  bool is_missing = false;  ///< a link to nothing
};

/// Why something was left out.
enum class LeftOut : std::uint8_t {
  other_name,      ///< files that aren't wanted by their names
  beside_classes,  ///< files that are, beside the classes' folders
  hidden,          ///< files and folders
  no_file,         ///< pipes, sockets, devices
  loop,            ///< links to a folder that they lie in
  empty_class,     ///< folders without files, which get no label
};
inline constexpr std::size_t kLeftOutKinds = 6;

struct ClassFolderOptions {
  /// Which files are wanted: "jpg" or "JPG" takes both; none: all.
  std::vector<std::string> extensions = {};
  /// The same by a function of the name without its folder; both must agree.
  std::function<bool(std::string_view name)> wants = {};
  /// What the labels number; none: the classes that have files, sorted. For a second folder that
  /// must have the labels of the first; a class that isn't in it is an Error (invalid_argument).
  std::vector<std::string> classes = {};
};

struct ClassFolder {
  std::string folder;
  std::vector<std::string> classes;
  std::vector<ClassFile> files;

  struct Omission {
    std::uint64_t count = 0;
    std::vector<std::string> first;  ///< three names at most
  };
  std::array<Omission, kLeftOutKinds> left_out;  ///< by LeftOut

  std::string path_of(const ClassFile& file) const { return folder + '/' + file.name; }
};

/// Errors: not_found, permission_denied of a folder that can't be listed. That there are no files is
/// none.
ClassFolder find_class_folder(const std::string& folder, const ClassFolderOptions& options = {});

/// All of a regular file, as a Record that knows it. invalid_argument for anything else: a pipe isn't
/// waited for.
Record read_whole_file(const std::string& file);

}  // namespace infeed
