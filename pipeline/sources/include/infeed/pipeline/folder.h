#pragma once

#include <cstdint>
#include <string>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/class_folder.h>
#include <infeed/records/record.h>

namespace infeed {

struct LabeledFile {
  Record content;          ///< all of the file; knows its path
  std::int64_t label = 0;  ///< the number of its class
  std::string name;        ///< below the folder: "cat/7.png"
};

struct FolderOptions {
  /// Which files are wanted, and what the labels number (records/class_folder.h).
  ClassFolderOptions files = {};
  /// So many files may be read at the same time; with 1 the thread that pulls does it. autotune takes
  /// as many as there are usable cores; slow disks want more.
  Count parallelism = 1;
  StageName name = {};  ///< as in StageOptions
};

/// Why: gives the files of a folder that has a folder a class, with their labels, as torchvision's
/// ImageFolder and Keras' image_dataset_from_directory do.
///
///     const infeed::ClassFolder train = infeed::find_class_folder("train", {.extensions = {"jpg"}});
///     auto images = infeed::folder(train)
///         | infeed::global_shuffle({.seed = 42})
///         | infeed::map([](const infeed::LabeledFile& file) { return file.content.size(); });
///     auto held_out = infeed::folder("test", {.files = {.classes = train.classes}});
///
/// Labels number the classes in the order of their names' bytes (train.classes); the order of the
/// elements is that of their names. What is a class, a file, and left out: class_folder.h. The folder
/// is looked through when the source is described; their number is known. Skipping opens nothing;
/// with parallelism 1 any file can be had at once, so that a global_shuffle may stand behind it.
///
/// Errors: a folder that can't be listed, or has no files (not_found), is thrown when the source is
/// described; a file that can't be read is an element's error that names it. A checkpoint is bound to
/// names and labels.
Dataset<LabeledFile> folder(const std::string& folder, FolderOptions options = {});
/// What find_class_folder() found; of the options `files` means nothing then.
Dataset<LabeledFile> folder(ClassFolder found, FolderOptions options = {});

}  // namespace infeed
