#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/idx.h>

#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

class IdxPairReader final : public FeatureReader {
 public:
  IdxPairReader(const IdxArray& images, const IdxArray& labels)
      : images_(images), labels_(labels) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const std::span<const std::uint8_t> image = images_.row(index);
    builder.bytes("image", {reinterpret_cast<const char*>(image.data()), image.size()});
    builder.integers("label", std::int64_t{labels_.row(index)[0]});
  }

  const IdxArray& images_;
  const IdxArray& labels_;
};

class IdxPairInput final : public ExampleInput {
 public:
  IdxPairInput(const std::string& images_file, const std::string& labels_file)
      : files_({examine_input_file(images_file), examine_input_file(labels_file)}),
        name_(input_file_name(images_file)),
        images_(read_idx(images_file, {.type = IdxType::uint8, .rank = 3})),
        labels_(
            read_idx(labels_file, {.type = IdxType::uint8, .rank = 1, .rows = images_.rows()})) {}

  std::uint64_t size() const override { return images_.rows(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<IdxPairReader>(images_, labels_);
  }
  std::vector<std::string> columns() const override { return {"image", "label"}; }
  std::string describe() const override {
    return fmt::format("{} of {}x{}", input_count(size(), "image"), images_.shape[1],
                       images_.shape[2]);
  }
  std::string name_of(std::uint64_t index) const override {
    return fmt::format("{}#{}", name_, index);
  }
  std::vector<InputFile> files() const override { return files_; }
  ColumnShapes shapes() const override { return {{"image", {images_.shape[1], images_.shape[2]}}}; }

 private:
  // Initialised before the arrays: a file that changes while it is read has another time at the
  // next run.
  const std::vector<InputFile> files_;
  const std::string name_;
  const IdxArray images_;
  const IdxArray labels_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_idx_pair(const std::string& images_file,
                                            const std::string& labels_file) {
  return std::make_unique<IdxPairInput>(images_file, labels_file);
}

}  // namespace infeed::tools
