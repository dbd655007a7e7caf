#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/convert/example_input.h>

#include "convert/compression_choice.h"
#include "convert/convert.h"
#include "convert/inputs/fashion_mnist.h"
#include "convert/inputs/open_input.h"
#include "convert/together_options.h"

/// The options of `infeed convert` and `infeed reshard`, and the inputs that follow from them.
namespace infeed::tools {

struct InputChoice {
  std::vector<std::string> inputs;
  std::string name = "data";
  InputOptions input;
  bool has_no_header = false;
  std::string delimiter;
  std::string schema_file;
  std::vector<std::string> renamed;
  std::string data{kFashionMnistFolder};
  std::string images_file;
  std::string labels_file;
  std::string split = "both";
};

struct OutputChoice {
  std::string output;
  std::string work;          ///< folder for work at an output that is a URL
  std::uint32_t shards = 0;  ///< 0: by the size
  std::uint64_t shard_bytes = 0;
  CompressionChoice compression;
  std::optional<std::uint64_t> seed;
  double validation_share = 0;
  std::string split_column;
  std::uint64_t quarantine_max = 0;
  bool overwrite = false;
  bool check = false;
};

struct ConvertCommandOptions {
  InputChoice from;
  OutputChoice to;
  std::string json_file;
  bool is_dry_run = false;
  bool no_sync = false;
  bool no_color = false;
  TogetherOptions together;
  int threads = 0;
};

/// One input, from which one or two sets of shards are made.
struct ConvertSource {
  std::string name;
  bool is_split;  ///< true with --validation
  std::string description;
  /// Opens the input; a stop request ends what its readers wait for.
  std::function<std::unique_ptr<ExampleInput>(std::stop_token stop)> open;
};

/// A set of shards that is made from a source.
struct ConvertSet {
  std::string name;
  SplitPart part;
};

/// Lists the inputs; none is opened.
std::vector<ConvertSource> list_sources(const ConvertCommandOptions& options);

std::vector<ConvertSet> sets_of(const ConvertSource& source, const ConvertCommandOptions& options);

/// Returns "csv, tsv, jsonl, ...".
std::string kinds_text(const ConvertCommandOptions& options);

}  // namespace infeed::tools
