#pragma once

#include <memory>

namespace infeed::detail {

/// A node with inner datasets, whose stages draw by the node's seed. A stage there may keep elements
/// for the next run, which are of no use once the node is gone: nobody else draws by its seed.
class HasInnerDatasets {
 public:
  HasInnerDatasets() = default;
  virtual ~HasInnerDatasets() = default;
  HasInnerDatasets(const HasInnerDatasets&) = delete;
  HasInnerDatasets& operator=(const HasInnerDatasets&) = delete;

  /// Returns a pointer that expires with the node.
  std::weak_ptr<const void> life() const { return life_; }

 private:
  const std::shared_ptr<const int> life_ = std::make_shared<const int>();
};

}  // namespace infeed::detail
