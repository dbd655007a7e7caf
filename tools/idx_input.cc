#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/idx.h>

#include "example_input.h"

namespace infeed::tools {
namespace {

class IdxPairInput final : public ExampleInput {
 public:
  IdxPairInput(IdxArray images, IdxArray labels)
      : images_(std::move(images)), labels_(std::move(labels)) {}

  std::uint64_t size() const override { return images_.rows(); }

  void add_features(std::uint64_t index, ExampleBuilder& builder) const override {
    const std::span<const std::uint8_t> image = images_.row(index);
    builder.bytes("image", {reinterpret_cast<const char*>(image.data()), image.size()});
    builder.integers("label", std::int64_t{labels_.row(index)[0]});
  }

  std::string describe() const override {
    return fmt::format("{} images of {}x{}", size(), images_.shape[1], images_.shape[2]);
  }

 private:
  const IdxArray images_;
  const IdxArray labels_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_idx_pair(const std::string& images_file,
                                            const std::string& labels_file) {
  IdxArray images = read_idx(images_file, {.type = IdxType::uint8, .rank = 3});
  IdxArray labels =
      read_idx(labels_file, {.type = IdxType::uint8, .rank = 1, .rows = images.rows()});
  return std::make_unique<IdxPairInput>(std::move(images), std::move(labels));
}

}  // namespace infeed::tools
