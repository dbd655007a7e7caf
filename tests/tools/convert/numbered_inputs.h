#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <infeed/convert/example_input.h>
#include <infeed/error.h>

#include "convert/inputs/open_input.h"
#include "temporary_folder.h"
#include "tools/small_dataset.h"

/// Inputs whose examples depend only on their numbers.
namespace infeed::test {

/// Returns `count` images of 2x2, whose pixels and label depend only on their number.
inline std::unique_ptr<ExampleInput> numbered_input(const TemporaryFolder& folder,
                                                    std::uint32_t count) {
  std::vector<std::string> images;
  std::string labels;
  for (std::uint32_t i = 0; i < count; ++i) {
    images.push_back(big_endian(i));
    labels.push_back(static_cast<char>(i % 10));
  }
  write_images(folder.file("images"), 2, images);
  write_labels(folder.file("labels"), labels);
  return tools::open_idx_pair(folder.file("images"), folder.file("labels"));
}

/// A hundred numbers; those in `bad` can't be read, and one of them stops the conversion.
class NumberInput final : public ExampleInput {
 public:
  NumberInput(std::set<std::uint64_t> bad, std::uint64_t last, std::stop_source& stop,
              std::uint64_t size = 100)
      : bad_(std::move(bad)), last_(last), stop_(stop), size_(size) {}
  std::uint64_t size() const override { return size_; }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<Reader>(*this);
  }
  std::vector<std::string> columns() const override { return {"label"}; }
  std::string describe() const override { return "100 numbers"; }
  std::string name_of(std::uint64_t index) const override {
    return fmt::format("number {}", index);
  }
  std::vector<InputFile> files() const override { return {}; }

 private:
  class Reader final : public FeatureReader {
   public:
    explicit Reader(const NumberInput& input) : input_(input) {}

   private:
    void add_features(std::uint64_t index, ExampleBuilder& builder) override {
      if (input_.bad_.contains(index)) throw Error(ErrorCode::data_loss, "it is bad");
      builder.integers("label", std::int64_t(index));
      if (index == input_.last_) input_.stop_.request_stop();
    }
    const NumberInput& input_;
  };

  const std::set<std::uint64_t> bad_;
  const std::uint64_t last_;
  std::stop_source& stop_;
  const std::uint64_t size_;
};

}  // namespace infeed::test
