#pragma once

#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/file_cache.h>

namespace infeed::detail {

/// What a cache in files or a snapshot is, and where.
struct StoreDescription {
  FileCacheOptions options;
  std::string folder;
  std::vector<std::string> identity;
  ErasedCodec codec;
};

class FileCacheNode final : public Node {
 public:
  FileCacheNode(std::string name, StoreDescription description, NodePointer input);

  std::string signature() const override { return name(); }
  Cardinality cardinality() const override { return input().cardinality(); }
  const std::string& folder() const { return description_.folder; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageScope& scope) const override;

 private:
  const StoreDescription description_;
};

}  // namespace infeed::detail
