#pragma once

#include <string>
#include <vector>

/// What schemas of structs (example_schema.h) and of columns (column_schema.h) are said by.
namespace infeed {

/// Partitions of a ragged feature, as in TensorFlow's RaggedFeature: which integer feature says how
/// its values are cut into inner sequences.
struct RowLengths {
  std::string feature;  ///< how long each is
};
struct RowSplits {
  std::string feature;  ///< 0, and where each ends
};

/// What at least some of many records should have: what fills vectors and was not said to be
/// optional. Whatever can't be missing is not among it.
struct ExpectedFeatures {
  std::vector<std::string> features;
  std::vector<std::string> lists;  ///< of SequenceExamples
  bool of_sequences = false;

  bool empty() const { return features.empty() && lists.empty(); }
};

}  // namespace infeed
