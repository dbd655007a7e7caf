#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/left_out.h"
#include "infeed/records/record.h"

/// Why: people keep images in one folder a class, as torchvision's ImageFolder and Keras'
/// image_dataset_from_directory expect them. Such folders also hold what people forgot: notes,
/// thumbnails, links that lead in a circle. So the result lists both the files taken and those left
/// out.
///
///     const infeed::ClassFolder found =
///         infeed::find_class_folder("train", {.extensions = {"jpg", "png"}});
///     for (const infeed::ClassFile& file : found.files) {
///       use(found.path_of(file), found.classes[std::size_t(file.label)]);
///     }
///
/// A folder below the given one is a class, with the files in it and in the folders below. Files
/// and classes are in the order of their names' bytes, on every machine. Links are followed, but
/// not to a folder that they lie in; pipes, sockets and devices are never opened. A link to a file
/// that isn't there counts as a file that can't be read.
namespace infeed {

struct ClassFile {
  std::string name;  ///< path below the folder: "cat/7.png"
  std::int64_t label = 0;
  bool is_missing = false;  ///< a link to nothing
};

struct ClassFolderOptions {
  /// Extensions of the wanted files: "jpg" or "JPG" takes both. Empty: all files.
  std::vector<std::string> extensions = {};
  /// Tells by the name without its folder if a file is wanted. A file must pass this and
  /// `extensions`.
  std::function<bool(std::string_view name)> wants = {};
  /// Classes that the labels number. Empty: the classes that have files, sorted. Set for a second
  /// folder that must have the labels of the first; a class that isn't listed is an Error
  /// (invalid_argument).
  std::vector<std::string> classes = {};
};

struct ClassFolder {
  std::string folder;
  std::vector<std::string> classes;
  std::vector<ClassFile> files;

  Omissions left_out;

  std::string path_of(const ClassFile& file) const { return folder + '/' + file.name; }
};

/// Finds classes and files. Errors: not_found, permission_denied for a folder that can't be listed.
/// A folder without files is no error.
ClassFolder find_class_folder(const std::string& folder, const ClassFolderOptions& options = {});

/// Returns the pairs of names that look alike but have other bytes, since one has its letters and
/// accents apart (as macOS writes them) and the other doesn't. As classes they get two labels.
std::vector<std::pair<std::string, std::string>> find_look_alikes(
    const std::vector<std::string>& names);

/// Reads a whole regular file as a Record that knows its file. Throws invalid_argument for anything
/// else, without waiting for a pipe.
Record read_whole_file(const std::string& file);

}  // namespace infeed
