#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <utility>

#include <infeed/error.h>
#include <infeed/image/header.h>
#include <infeed/records/class_folder.h>
#include <infeed/records/file.h>

#include "cli/parallel.h"
#include "convert/images/image_features.h"
#include "convert/images/image_folder_scan.h"
#include "convert/images/image_survey.h"
#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

class ImageFolderInput final : public ExampleInput {
 public:
  ImageFolderInput(std::string folder, const ImageOptions& options,
                   const std::vector<std::string>& classes)
      : folder_(std::move(folder)), options_(options), found_(scan_image_folder(folder_, classes)) {
    // Trusted images aren't looked at before their turn.
    if (!options_.trust) survey();
  }

  std::uint64_t size() const override { return found_.images.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override;
  std::vector<std::string> columns() const override {
    if (!options_.decode) return {"class", "filename", "image", "label"};
    return {"channels", "class", "filename", "height", "image", "label", "width"};
  }
  std::string describe() const override {
    const std::size_t count = classes().size();
    return fmt::format("{} of {} class{}", input_count(size(), "image"), count,
                       count == 1 ? "" : "es");
  }
  std::string name_of(std::uint64_t index) const override { return found_.images[index].name; }
  std::vector<InputFile> files() const override { return found_.files; }
  std::string settings() const override {
    return fmt::format("classes {}; {}", fmt::join(classes(), " "), describe_settings(options_));
  }
  std::vector<std::string> classes() const override { return found_.classes; }
  ColumnShapes shapes() const override {
    if (!options_.decode) return {};
    return {{"image", survey_.shape(options_)}};
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = survey_.notes(options_);
    notes.insert(notes.begin(), found_.notes.begin(), found_.notes.end());
    return notes;
  }

 private:
  friend class ImageReader;

  std::string file_of(const FolderImage& image) const {
    return (fs::path(folder_) / image.name).string();
  }

  void survey() {
    constexpr std::size_t kImagesOfAJob = 64;
    const std::size_t count = found_.images.size();
    std::mutex mutex;
    for_each_in_parallel((count + kImagesOfAJob - 1) / kImagesOfAJob, 0, {}, [&](std::size_t job) {
      ImageSurvey part;
      const std::size_t begin = job * kImagesOfAJob;
      for (std::size_t i = begin; i < std::min(begin + kImagesOfAJob, count); ++i) {
        add_header(file_of(found_.images[i]), part);
      }
      const std::lock_guard lock(mutex);
      survey_.merge(part);
    });
  }

  /// Skips an image that can't be read: read() reports it in its turn.
  static void add_header(const std::string& name, ImageSurvey& survey) {
    try {
      const File file = File::open_to_read(name);
      survey.add(image::read_header(
          [&](std::uint64_t offset, std::span<char> into) { return file.read_at(offset, into); }));
    } catch (const Error&) {
      return;
    }
  }

  const std::string folder_;
  const ImageOptions options_;
  const ImageFolder found_;
  ImageSurvey survey_;
};

class ImageReader final : public FeatureReader {
 public:
  explicit ImageReader(const ImageFolderInput& input)
      : input_(input), channels_(input.survey_.channels(input.options_)) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const FolderImage& image = input_.found_.images[index];
    const std::string file = input_.file_of(image);
    const Record whole = read_whole_file(file);  // it may be a pipe by now
    const std::string_view bytes = whole.bytes();
    if (image::format_of(bytes) == image::ImageFormat::unknown) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("its {} bytes don't begin like a JPEG, PNG, GIF, BMP or WebP image",
                              bytes.size()))
          .at_file(file);
    }
    add_image(bytes, {.column = "image", .prefix = "", .file = file}, input_.options_, channels_,
              builder);
    builder.bytes("class", input_.found_.classes[image.label])
        .bytes("filename", image.name)
        .integers("label", static_cast<std::int64_t>(image.label));
  }

  const ImageFolderInput& input_;
  const std::size_t channels_;
};

std::unique_ptr<ExampleReader> ImageFolderInput::open_reader() const {
  return std::make_unique<ImageReader>(*this);
}

}  // namespace

std::unique_ptr<ExampleInput> open_image_folder(const std::string& folder,
                                                const ImageOptions& options,
                                                const std::vector<std::string>& classes) {
  return std::make_unique<ImageFolderInput>(folder, options, classes);
}

}  // namespace infeed::tools
