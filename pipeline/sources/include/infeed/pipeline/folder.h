#pragma once

#include <cstdint>
#include <string>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/class_folder.h>
#include <infeed/records/record.h>

namespace infeed {

struct LabeledFile {
  Record content;          ///< the whole file; knows its path
  std::int64_t label = 0;  ///< number of its class
  std::string name;        ///< path below the folder: "cat/7.png"
};

struct FolderOptions {
  /// Chooses the files, and the classes that labels number (records/class_folder.h).
  ClassFolderOptions files = {};
  /// The most files that are read at the same time; with 1 the pulling thread reads. autotune takes
  /// as many as there are usable cores; slow disks need more.
  Count parallelism = 1;
  StageName name = {};  ///< as in StageOptions
};

/// Reads the files of a folder with one folder per class, and their labels, as torchvision's
/// ImageFolder and Keras' image_dataset_from_directory do.
///
///     const infeed::ClassFolder train = infeed::find_class_folder("train", {.extensions = {"jpg"}});
///     auto images = infeed::folder(train)
///         | infeed::global_shuffle({.seed = 42})
///         | infeed::map([](const infeed::LabeledFile& file) { return file.content.size(); });
///     auto held_out = infeed::folder("test", {.files = {.classes = train.classes}});
///
/// Labels number the classes in the order of their names' bytes (train.classes). Elements come in
/// the order of their names. class_folder.h says which folders are classes, and which files are
/// left out. The folder is searched when the source is described, so the number of files is known.
/// Skipping opens no file. With parallelism 1 any file can be read directly, so a global_shuffle
/// may follow.
///
/// Errors: throws when the source is described if a folder can't be listed, or has no files
/// (not_found). A file that can't be read is an element's error that names it. A checkpoint is
/// bound to names, labels and content (checkpoint.h).
Dataset<LabeledFile> folder(const std::string& folder, FolderOptions options = {});
/// Reads the result of find_class_folder(). The option `files` is ignored.
Dataset<LabeledFile> folder(ClassFolder found, FolderOptions options = {});

}  // namespace infeed
