#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <set>

#include <infeed/error.h>
#include <infeed/image/header.h>
#include <infeed/records/seekable_file.h>
#include <infeed/records/tar.h>

#include "convert/images/image_features.h"
#include "convert/images/image_survey.h"
#include "convert/inputs/input_count.h"
#include "convert/inputs/left_out_notes.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

constexpr OmissionNames kOmittedMembers{
    {{"member without an extension", "members without an extension"},
     {},
     {"hidden member", "hidden members"},
     {"device, pipe or the like", "devices, pipes and the like"},
     {},
     {}}};

/// True for "jpg", "seg.png".
bool is_image_name(std::string_view extension) {
  return image::is_image_extension(extension.substr(extension.rfind('.') + 1));
}

/// Surveys under the members' extensions.
using ImageSurveys = std::map<std::string, ImageSurvey, std::less<>>;

struct TarPart {
  std::string extension;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct TarExample {
  std::string key;
  std::size_t file = 0;
  std::vector<TarPart> parts;
};

class TarReader final : public FeatureReader {
 public:
  TarReader(const std::deque<SeekableFile>& files, const std::vector<TarExample>& examples,
            const ImageSurveys& surveys, const ImageOptions& options)
      : files_(files), examples_(examples), surveys_(surveys), options_(options) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const TarExample& example = examples_[index];
    const SeekableFile& file = files_[example.file];
    builder.bytes("__key__", example.key);
    for (const TarPart& part : example.parts) {
      bytes_.resize(part.bytes);
      file.read_exactly(part.offset, bytes_);
      if (is_image_name(part.extension)) {
        const std::string prefix = part.extension + ".";
        add_image(bytes_, {.column = part.extension, .prefix = prefix, .file = file.name()},
                  options_, channels_of(part.extension), builder);
        continue;
      }
      if (part.extension != "cls") {
        builder.bytes(part.extension, bytes_);
        continue;
      }
      std::string_view digits = bytes_;
      while (digits.ends_with('\n') || digits.ends_with('\r')) digits.remove_suffix(1);
      const auto label = parse_integer(digits);
      if (!label) {
        throw Error(ErrorCode::data_loss,
                    fmt::format("'{}.cls' has '{}', but the number of a class is expected",
                                example.key, digits.substr(0, 40)))
            .at_file(file.name())
            .at_offset(part.offset);
      }
      builder.integers("cls", *label);
    }
  }

  std::size_t channels_of(const std::string& extension) const {
    const auto survey = surveys_.find(extension);
    return (survey == surveys_.end() ? ImageSurvey() : survey->second).channels(options_);
  }

  const std::deque<SeekableFile>& files_;
  const std::vector<TarExample>& examples_;
  const ImageSurveys& surveys_;
  const ImageOptions& options_;
  std::string bytes_;
};

class TarInput final : public ExampleInput {
 public:
  TarInput(const Files& names, const ImageOptions& options) : options_(options) {
    for (const std::string& name : names) {
      files_.push_back(examine_input_file(name));
      tars_.emplace_back(name);
      const TarList list = list_tar(tars_.back());
      for (const TarSampleMembers& sample : list.samples) add(sample);
      left_out_.add(list.left_out);
    }
  }

  std::uint64_t size() const override { return examples_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<TarReader>(tars_, examples_, surveys_, options_);
  }
  std::vector<std::string> columns() const override { return {columns_.begin(), columns_.end()}; }
  std::string describe() const override {
    return fmt::format("{} of {}", input_count(size(), "example"),
                       input_count(tars_.size(), "tar file"));
  }
  std::string name_of(std::uint64_t index) const override { return examples_[index].key; }
  std::vector<InputFile> files() const override { return files_; }
  std::string settings() const override {
    const bool has_images = std::any_of(columns_.begin(), columns_.end(), is_image_name);
    return has_images ? describe_settings(options_) : "";
  }
  ColumnShapes shapes() const override {
    ColumnShapes shapes;
    if (!options_.decode) return shapes;
    for (const auto& [name, survey] : surveys_) shapes[name] = survey.shape(options_);
    return shapes;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = left_out_notes(left_out_, kOmittedMembers);
    for (const auto& [name, survey] : surveys_) {
      for (const std::string& note : survey.notes(options_)) notes.push_back(name + ": " + note);
    }
    return notes;
  }

 private:
  void add(const TarSampleMembers& sample) {
    examples_.push_back({sample.key, tars_.size() - 1, {}});
    for (const TarMember& member : sample.members) {
      std::vector<TarPart>& parts = examples_.back().parts;
      parts.push_back({split_tar_name(member.name).extension, member.offset, member.bytes});
      columns_.emplace(parts.back().extension);
      if (is_image_name(parts.back().extension)) take_image(parts.back());
    }
  }

  void take_image(const TarPart& part) {
    if (options_.decode) {
      for (const char* const size : {".height", ".width", ".channels"}) {
        columns_.emplace(part.extension + size);
      }
    }
    if (options_.trust) return;
    const SeekableFile& tar = tars_.back();
    const auto read = [&](std::uint64_t offset, std::span<char> into) {
      const std::uint64_t left = part.bytes - std::min(offset, part.bytes);
      return tar.read_at(part.offset + offset, into.first(std::min(into.size(), left)));
    };
    surveys_[part.extension].add(image::read_header(read));
  }

  const ImageOptions options_;
  std::vector<InputFile> files_;
  std::deque<SeekableFile> tars_;
  std::vector<TarExample> examples_;
  std::set<std::string> columns_{"__key__"};
  ImageSurveys surveys_;
  Omissions left_out_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_tar(const Files& files, const ImageOptions& options) {
  return std::make_unique<TarInput>(files, options);
}

}  // namespace infeed::tools
