#pragma once

#include <string>
#include <vector>

/// Types shared by schemas of structs (example_schema.h) and of columns (column_schema.h).
namespace infeed {

/// Partitions of a ragged feature, as in TensorFlow's RaggedFeature: an integer feature says how
/// the values are cut into inner sequences.
struct RowLengths {
  std::string feature;  ///< length of each inner sequence
};
struct RowSplits {
  std::string feature;  ///< 0, and the end of each inner sequence
};

/// Features that at least some of many records should have: they fill vectors and were not declared
/// optional. Features that can't be missing are not among them.
struct ExpectedFeatures {
  std::vector<std::string> features;
  std::vector<std::string> lists;  ///< feature lists of SequenceExamples
  bool of_sequences = false;

  bool empty() const { return features.empty() && lists.empty(); }
};

}  // namespace infeed
