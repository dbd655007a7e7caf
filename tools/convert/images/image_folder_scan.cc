#include "convert/images/image_folder_scan.h"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include <infeed/error.h>
#include <infeed/image/header.h>
#include <infeed/records/class_folder.h>

#include "convert/inputs/left_out_notes.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr OmissionNames kOmittedFiles{
    {{"file that by its name is no image", "files that by their names are no images"},
     {"image beside the class folders", "images beside the class folders"},
     {"hidden file or folder", "hidden files and folders"},
     {"pipe, socket or device with an image's name",
      "pipes, sockets or devices with an image's name"},
     {"link to a folder that it lies in", "links to a folder that they lie in"},
     {"class folder without images, which gets no label",
      "class folders without images, which get no label"}}};

bool has_image_name(std::string_view name) {
  const std::string extension = fs::path(name).extension().string();
  return !extension.empty() && image::is_image_extension(std::string_view(extension).substr(1));
}

InputFile input_file(const std::string& path, const ClassFile& file) {
  if (!file.is_missing) return examine_input_file(path);
  return {.path = fs::absolute(path).lexically_normal().string()};
}

}  // namespace

ImageFolder scan_image_folder(const std::string& folder) {
  ClassFolder found = find_class_folder(folder, {.wants = &has_image_name});
  if (found.files.empty()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("no images were found in '{}': a folder a class is expected, with files "
                    "named .jpg, .png, .gif, .bmp or .webp in it; for a flat folder name "
                    "the files and say --kind files; for other data name the files in it",
                    folder));
  }
  ImageFolder images;
  for (ClassFile& file : found.files) {
    images.files.push_back(input_file(found.path_of(file), file));
    images.images.push_back({std::move(file.name), static_cast<std::size_t>(file.label)});
  }
  images.classes = std::move(found.classes);
  images.notes = left_out_notes(found.left_out, kOmittedFiles);
  return images;
}

}  // namespace infeed::tools
