#include "convert/images/image_folder_scan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <infeed/error.h>
#include <infeed/image/header.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

enum class LeftOut { no_image, beside_classes, hidden, no_file, loop, empty_class };

struct LeftOutKind {
  std::string_view one;
  std::string_view many;
  std::uint64_t count = 0;
  std::vector<std::string> first = {};
};

bool has_image_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return !extension.empty() && image::is_image_extension(std::string_view(extension).substr(1));
}

/// In the order of their bytes: the file system's is another one on each machine.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  if (error) throw system_error("list", folder.string(), error.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

class FolderScan {
 public:
  explicit FolderScan(std::string folder) : folder_(std::move(folder)) {}

  ImageFolder run() {
    visit(folder_, Place::top);
    for (const LeftOutKind& kind : left_out_) {
      if (kind.count == 0) continue;
      result_.notes.push_back(
          fmt::format("left out: {} {}: {}{}", kind.count, kind.count == 1 ? kind.one : kind.many,
                      fmt::join(kind.first, ", "), kind.count > kind.first.size() ? ", ..." : ""));
    }
    return std::move(result_);
  }

 private:
  enum class Place { top, in_class };
  /// What tells a folder from others, by whatever name it is reached.
  using Identity = std::pair<dev_t, ino_t>;

  void visit(const fs::path& folder, Place place) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) throw system_error("list", folder.string(), errno);
    const Identity identity{status.st_dev, status.st_ino};
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      leave_out(LeftOut::loop, folder);
      return;
    }
    above_.push_back(identity);
    for (const fs::path& entry : sorted_entries(folder)) take(entry, place);
    above_.pop_back();
  }

  void take(const fs::path& entry, Place place) {
    std::error_code error;
    const fs::file_status status = fs::status(entry, error);
    const bool is_link_to_nothing = status.type() == fs::file_type::not_found || error;
    if (entry.filename().string().starts_with('.')) {
      leave_out(LeftOut::hidden, entry);
    } else if (fs::is_directory(status)) {
      place == Place::top ? add_class(entry) : visit(entry, place);
    } else if (!has_image_name(entry)) {
      leave_out(LeftOut::no_image, entry);
    } else if (place == Place::top) {
      leave_out(LeftOut::beside_classes, entry);
    } else if (!fs::is_regular_file(status) && !is_link_to_nothing) {
      leave_out(LeftOut::no_file, entry);
    } else {
      add_image(entry, is_link_to_nothing);
    }
  }

  void add_class(const fs::path& folder) {
    const std::size_t before = result_.images.size();
    visit(folder, Place::in_class);
    if (result_.images.size() > before) {
      result_.classes.push_back(folder.filename().string());
    } else {
      leave_out(LeftOut::empty_class, folder);
    }
  }

  void add_image(const fs::path& file, bool is_link_to_nothing) {
    result_.files.push_back(is_link_to_nothing
                                ? InputFile{.path = fs::absolute(file).lexically_normal().string()}
                                : examine_input_file(file.string()));
    result_.images.push_back({name_of(file), result_.classes.size()});
  }

  std::string name_of(const fs::path& path) const {
    return path.lexically_relative(folder_).string();
  }

  void leave_out(LeftOut why, const fs::path& path) {
    constexpr std::size_t kNamesMax = 3;
    LeftOutKind& kind = left_out_.at(static_cast<std::size_t>(why));
    ++kind.count;
    if (kind.first.size() < kNamesMax) kind.first.push_back(name_of(path));
  }

  const std::string folder_;
  ImageFolder result_;
  std::vector<Identity> above_;
  std::array<LeftOutKind, 6> left_out_{
      {{"file that by its name is no image", "files that by their names are no images"},
       {"image beside the class folders", "images beside the class folders"},
       {"hidden file or folder", "hidden files and folders"},
       {"pipe, socket or device with an image's name",
        "pipes, sockets or devices with an image's name"},
       {"link to a folder that it lies in", "links to a folder that they lie in"},
       {"class folder without images, which gets no label",
        "class folders without images, which get no label"}}};
};

}  // namespace

ImageFolder scan_image_folder(const std::string& folder) {
  ImageFolder found = FolderScan(folder).run();
  if (!found.images.empty()) return found;
  throw Error(ErrorCode::not_found,
              fmt::format("no images were found in '{}': a folder a class is expected, with files "
                          "named .jpg, .png, .gif, .bmp or .webp in it; for a flat folder name "
                          "the files and say --kind files; for other data name the files in it",
                          folder));
}

}  // namespace infeed::tools
