#pragma once

#include <functional>
#include <string>
#include <vector>

#include "columns/content_hash.h"
#include "infeed/records/column.h"
#include "infeed/records/features.h"

/// Makes the functions of the feature operations. They check the options, and throw Errors whose
/// messages Features puts the operation and the column in front of.
namespace infeed::detail {

using FeatureFunction = std::function<Column(const Column&)>;

FeatureFunction feature_function(const feature::HashBuckets& step);
FeatureFunction feature_function(const feature::Split& step);
FeatureFunction feature_function(const feature::Cast& step);
FeatureFunction feature_function(const feature::Fill& step);
FeatureFunction feature_function(const feature::Clip& step);
FeatureFunction feature_function(const feature::Bucketise& step);
FeatureFunction feature_function(const feature::Normalise& step);
FeatureFunction feature_function(const feature::OneHot& step);
FeatureFunction feature_function(const feature::MultiHot& step);

/// Makes the Cast of text to numbers.
FeatureFunction text_cast(DType dtype);

/// Returns the words of a vocabulary: those given, or the lines of its file.
std::vector<std::string> words_of(const feature::Vocabulary& step);
FeatureFunction vocabulary_function(const feature::Vocabulary& step,
                                    std::vector<std::string> words);

/// Adds the step's name and options, without the words of a vocabulary and where they are.
void add_options(ContentHash& hash, const feature::Step& step);

}  // namespace infeed::detail
