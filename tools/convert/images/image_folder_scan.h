#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <infeed/convert/example_input.h>

/// Why: a folder of images is made by people, and holds forgotten files: notes, thumbnails, links
/// that lead in a circle. The user sees what is taken and what is left out.
namespace infeed::tools {

struct FolderImage {
  std::string name;  ///< path below the folder: "cat/7.png"
  std::size_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;  ///< in the order of their labels
  std::vector<FolderImage> images;
  std::vector<InputFile> files;    ///< the images' files
  std::vector<std::string> notes;  ///< facts that a user should know, a line each
};

/// Takes a folder for each class, with images in it and in the folders below. Links are followed; a
/// link to a missing file is an image that can't be read. Labels number `classes`, or if it is empty
/// the folders. Errors: not_found if there are no images; invalid_argument for a folder that isn't
/// in `classes`, or if without them the folders are parts of a split (train, val) with the classes
/// below.
ImageFolder scan_image_folder(const std::string& folder, const std::vector<std::string>& classes);

}  // namespace infeed::tools
