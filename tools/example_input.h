#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <infeed/records/example.h>

/// Why: `infeed convert` takes many kinds of data, and what is behind it (shards, threads,
/// stopping) doesn't want to know which. An input is a numbered list of examples.
///
/// To add a kind: derive, and name it in convert_command.cc.
namespace infeed::tools {

class ExampleInput {
 public:
  virtual ~ExampleInput() = default;
  virtual std::uint64_t size() const = 0;
  /// Adds the features of example `index` to `builder`, which is empty. Any number of threads at
  /// once. Throws infeed::Error that names the file.
  virtual void add_features(std::uint64_t index, ExampleBuilder& builder) const = 0;
  /// "60000 images of 28x28"
  virtual std::string describe() const = 0;
};

/// IDX images and their labels, as MNIST and its relatives come: {image: bytes, label: int64}.
/// Throws what read_idx() does; and data_loss when the two don't belong together.
std::unique_ptr<ExampleInput> open_idx_pair(const std::string& images_file,
                                            const std::string& labels_file);

}  // namespace infeed::tools
