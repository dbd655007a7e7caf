#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include <infeed/error.h>
#include <infeed/records/file.h>

#include "convert/inputs/decoded_image_feature.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array<std::string_view, 6> kKnown{".jpg", ".jpeg", ".png",
                                                   ".gif", ".bmp",  ".webp"};
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

bool is_image(std::string_view bytes) {
  constexpr std::array<std::string_view, 4> kMagic{"\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "GIF8",
                                                   "BM"};
  const auto begins = [&](std::string_view magic) { return bytes.starts_with(magic); };
  return std::any_of(kMagic.begin(), kMagic.end(), begins) ||
         (begins("RIFF") &&
          bytes.substr(std::min<std::size_t>(8, bytes.size())).starts_with("WEBP"));
}

struct Image {
  std::string name;  ///< below the folder: "cat/7.png"
  std::size_t label = 0;
};

class ImageFolderInput final : public ExampleInput {
 public:
  ImageFolderInput(std::string folder, bool decode) : folder_(std::move(folder)), decode_(decode) {
    for (const fs::path& entry : sorted_entries(folder_)) {
      if (fs::is_directory(entry)) add_class(entry);
    }
    if (!images_.empty()) return;
    throw Error(
        ErrorCode::not_found,
        fmt::format("no images were found in '{}': a folder a class is expected, with files "
                    "named .jpg, .png, .gif, .bmp or .webp in it; for a flat folder name "
                    "the files and say --kind files; for other data name the files in it",
                    folder_));
  }

  std::uint64_t size() const override { return images_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override;
  std::vector<std::string> columns() const override {
    if (!decode_) return {"class", "filename", "image", "label"};
    return {"channels", "class", "filename", "height", "image", "label", "width"};
  }
  std::string describe() const override {
    return fmt::format("{} images of {} classes", size(), classes_.size());
  }
  std::string name_of(std::uint64_t index) const override { return images_[index].name; }
  std::vector<InputFile> files() const override { return files_; }
  std::string settings() const override {
    return fmt::format("classes {}{}", fmt::join(classes_, " "), decode_ ? "; decoded" : "");
  }

 private:
  friend class ImageReader;

  /// In the order of their bytes: the file system's is another one on each machine.
  static std::vector<fs::path> sorted_entries(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      entries.push_back(at->path());
    }
    if (error) throw system_error("list", folder.string(), error.value());
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  void add_class(const fs::path& folder) {
    const std::size_t before = images_.size();
    add_images(folder);
    if (images_.size() > before) classes_.push_back(folder.filename().string());
  }

  void add_images(const fs::path& folder) {
    for (const fs::path& entry : sorted_entries(folder)) {
      if (fs::is_directory(entry)) {
        add_images(entry);
      } else if (is_image_name(entry)) {
        files_.push_back(examine_input_file(entry.string()));
        images_.push_back({fs::relative(entry, folder_).string(), classes_.size()});
      }
    }
  }

  const std::string folder_;
  const bool decode_;
  std::vector<std::string> classes_;
  std::vector<Image> images_;
  std::vector<InputFile> files_;
};

class ImageReader final : public FeatureReader {
 public:
  explicit ImageReader(const ImageFolderInput& input) : input_(input) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const Image& image = input_.images_[index];
    const std::string file = (fs::path(input_.folder_) / image.name).string();
    const std::string bytes = read_file(file);
    if (!is_image(bytes)) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("its {} bytes don't begin like a JPEG, PNG, GIF, BMP or WebP image",
                              bytes.size()))
          .at_file(file);
    }
    if (input_.decode_) {
      add_decoded_image(bytes, "image", "", file, builder);
    } else {
      builder.bytes("image", bytes);
    }
    builder.bytes("class", input_.classes_[image.label])
        .bytes("filename", image.name)
        .integers("label", static_cast<std::int64_t>(image.label));
  }

  const ImageFolderInput& input_;
};

std::unique_ptr<ExampleReader> ImageFolderInput::open_reader() const {
  return std::make_unique<ImageReader>(*this);
}

}  // namespace

std::unique_ptr<ExampleInput> open_image_folder(const std::string& folder, bool decode) {
  return std::make_unique<ImageFolderInput>(folder, decode);
}

}  // namespace infeed::tools
