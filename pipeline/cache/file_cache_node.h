#pragma once

#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/file_cache.h>

#include "engine/seeds/kept_seeds.h"
#include "engine/seeds/signature.h"

namespace infeed::detail {

/// A cache in files or a snapshot: its options, its place and what it holds.
struct StoreDescription {
  FileCacheOptions options;
  std::string folder = {};
  std::vector<std::string> identity = {};
  ErasedCodec codec;
  bool has_own_folder = false;  ///< a snapshot's folder below the path
};

class FileCacheNode final : public Node, public KeepsSeeds {
 public:
  FileCacheNode(std::string name, StoreDescription description, NodePointer input);

  std::string signature() const override { return name(); }
  Cardinality cardinality() const override { return input().cardinality(); }
  /// A resume hands through what isn't kept, unless elements have failed.
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return {0, stage.known == Known::no_errors ? stage.place.position : 0, true};
  }
  /// Returns the description for a run that draws from these seeds, and so has other elements than
  /// the dataset's own.
  StoreDescription description_with(const AdoptedSeeds& adopted) const;
  AdoptedSeeds kept_seeds(const AdoptedSeeds& adopted) const override;

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override;

 private:
  const StoreDescription description_;
};

}  // namespace infeed::detail
