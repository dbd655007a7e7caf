#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <infeed/convert/example_input.h>

/// Why: a folder of images is made by people, and holds what they forgot: notes, thumbnails, links
/// that lead in a circle. What is taken and what is left out must both be seen.
namespace infeed::tools {

struct FolderImage {
  std::string name;  ///< below the folder: "cat/7.png"
  std::size_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;  ///< folders with at least one image, sorted by their bytes
  std::vector<FolderImage> images;
  std::vector<InputFile> files;    ///< of the images
  std::vector<std::string> notes;  ///< what was left out, a line each kind
};

/// A folder a class, with images in it and in the folders below; links are followed. A link to a
/// file that isn't there is an image that can't be read. Error not_found when there are no images.
ImageFolder scan_image_folder(const std::string& folder);

}  // namespace infeed::tools
