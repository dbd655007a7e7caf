#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/convert.h"

/// Why: a conversion may go on only if it is still the same one. The plan says everything that the
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
};

struct ConversionPlan {
  std::string text;  ///< JSON; the same text is the same plan
  std::string id;    ///< eight hexadecimal digits of it
  std::uint32_t shard_count = 0;
  std::vector<std::string> shards;  ///< the files, with their folder
};

/// Reads some examples when the shard count follows from a size. Throws invalid_argument when that
/// would be too many shards.
ConversionPlan make_plan(const ExampleInput& input, const ConvertOptions& options);

/// How much of the input goes into the part that is written, 0..1.
double share_of_part(const ConvertOptions& options);

/// "shards: 16 there, 8 now". Any text is taken for `there`.
std::string describe_difference(const std::string& there, const std::string& now);

/// How many shards the plan of a begun conversion says; nothing where that can't be, as somebody else
/// may have written it.
std::optional<std::uint32_t> shards_of_plan(const std::string& text);

/// What some examples, evenly spread, say about all of them.
struct SampledSize {
  double bytes_per_example = 0;  ///< with framing
  double seconds_per_example = 0;
  ColumnStatistics statistics = ColumnStatistics();
  std::uint64_t bad_examples = 0;
  std::string first_bad = {};  ///< where it stands, and what is wrong
};
SampledSize sample_size(const ExampleInput& input);

}  // namespace infeed::tools
