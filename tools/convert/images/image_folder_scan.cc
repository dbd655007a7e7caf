#include "convert/images/image_folder_scan.h"

#include <algorithm>
#include <array>
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

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool has_image_name(std::string_view name) {
  const std::string extension = fs::path(name).extension().string();
  return !extension.empty() && image::is_image_extension(std::string_view(extension).substr(1));
}

InputFile input_file(const std::string& path, const ClassFile& file) {
  if (!file.is_missing) return examine_input_file(path);
  return {.path = path};
}

/// True for an image that isn't in its class's folder but in one below.
bool lies_deeper(const ClassFile& file) {
  return std::count(file.name.begin(), file.name.end(), '/') > 1;
}

/// People name the folder above train/ and val/, whose folders are the classes.
void refuse_parts_of_a_split(const ClassFolder& found) {
  static constexpr std::array<std::string_view, 10> kParts{
      "train", "training", "val", "valid", "validation",
      "test",  "testing",  "dev", "eval",  "holdout"};
  const bool are_parts =
      std::all_of(found.classes.begin(), found.classes.end(), [](const std::string& name) {
        return std::find(kParts.begin(), kParts.end(), lower_case(name)) != kParts.end();
      });
  if (!are_parts || !std::all_of(found.files.begin(), found.files.end(), &lies_deeper)) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format(
          "'{}' seems to hold parts of a split ({}), whose folders are the classes: {}; "
          "convert '{}/{}' by itself, and the others with --classes and the manifest of the "
          "first, so that labels agree; if they are the classes, name them in a file: "
          "--classes FILE",
          found.folder, fmt::join(found.classes, ", "), found.files.front().name, found.folder,
          found.classes.front()));
}

/// Adds a line if there are such names: "2 images lie in folders below their class's: a, b".
void add_note(std::vector<std::string>& notes, const std::vector<std::string>& names,
              const OneAndMany& what) {
  constexpr std::size_t kShownMax = 3;
  if (names.empty()) return;
  const std::vector<std::string> first(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShownMax)));
  notes.push_back(fmt::format("{} {}: {}{}", names.size(), names.size() == 1 ? what.one : what.many,
                              fmt::join(first, ", "), names.size() > kShownMax ? ", ..." : ""));
}

void add_class_notes(const ClassFolder& found, std::vector<std::string>& notes) {
  std::vector<std::string> deeper;
  std::vector<bool> has_images(found.classes.size());
  for (const ClassFile& file : found.files) {
    if (lies_deeper(file)) deeper.push_back(file.name);
    has_images[static_cast<std::size_t>(file.label)] = true;
  }
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < has_images.size(); ++i) {
    if (!has_images[i]) absent.push_back(found.classes[i]);
  }
  std::vector<std::string> alike;
  for (const auto& [one, other] : find_look_alikes(found.classes)) {
    alike.push_back(fmt::format("'{}' and '{}'", one, other));
  }
  add_note(
      notes, deeper,
      {"image lies in a folder below its class's", "images lie in folders below their class's"});
  add_note(notes, absent, {"class has no image here", "classes have no image here"});
  add_note(notes, alike,
           {"pair of classes look alike and differ in their Unicode form only",
            "pairs of classes look alike and differ in their Unicode form only"});
}

}  // namespace

ImageFolder scan_image_folder(const std::string& folder, const std::vector<std::string>& classes) {
  ClassFolder found = find_class_folder(folder, {.wants = &has_image_name, .classes = classes});
  if (found.files.empty()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("no images were found in '{}': a folder a class is expected, with files "
                    "named .jpg, .png, .gif, .bmp or .webp in it; for a flat folder name "
                    "the files and say --kind files; for other data name the files in it",
                    folder));
  }
  if (classes.empty()) refuse_parts_of_a_split(found);
  ImageFolder images;
  images.notes = left_out_notes(found.left_out, kOmittedFiles);
  add_class_notes(found, images.notes);
  const fs::path absolute = (fs::absolute(folder) / "").lexically_normal();  // ends with a slash
  for (ClassFile& file : found.files) {
    images.files.push_back(input_file(absolute.native() + file.name, file));
    images.images.push_back({std::move(file.name), static_cast<std::size_t>(file.label)});
  }
  images.classes = std::move(found.classes);
  return images;
}

}  // namespace infeed::tools
