#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/convert.h"

/// Why: a conversion may go on only if it is still the same one. The plan holds everything that the
/// bytes of the dataset depend on: the input's files (size and time), the map from examples to
/// shards, the options, the program's version. It is written, synced, before anything else.
namespace infeed::tools {

/// The names of a dataset's files.
struct DatasetNames {
  explicit DatasetNames(const std::string& prefix);
  std::string folder;
  std::string name;  ///< the prefix without the folder
  std::string plan_file;
  std::string journal_file;
  std::string manifest_file;
  std::string aside_folder;  ///< for shards that a silent process may be writing, too
};

struct ConversionPlan {
  std::string text;  ///< JSON; the same text is the same plan
  std::string id;    ///< eight hexadecimal digits of its hash
  std::uint32_t shard_count = 0;
  std::vector<std::string> shards;  ///< the files, with their folder
};

/// Makes the plan. Reads some examples if the shard count follows from a size. Throws
/// invalid_argument if that gives too many shards.
ConversionPlan make_plan(const ExampleInput& input, const ConvertOptions& options);

/// Returns the share of the input that goes into the written part, 0..1.
double share_of_part(const ConvertOptions& options);

/// Returns "shards: 16 there, 8 now". `there` may be any text.
std::string describe_difference(const std::string& there, const std::string& now);

/// Returns the number of shards in the plan of a begun conversion; nothing if it can't be right,
/// since others may have written the text.
std::optional<std::uint32_t> shards_of_plan(const std::string& text);

/// Results of a sample of evenly spread examples.
struct SampledSize {
  double bytes_per_example = 0;  ///< with framing
  double seconds_per_example = 0;
  ColumnStatistics statistics = ColumnStatistics();
  std::uint64_t bad_examples = 0;
  std::string first_bad = {};  ///< its place and error
};
SampledSize sample_size(const ExampleInput& input);

}  // namespace infeed::tools
