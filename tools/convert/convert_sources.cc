#include "convert/convert_sources.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/files.h>

#include "convert/inputs/delimiter.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

/// Refuses other names for columns that --columns leaves out: they would change nothing.
void require_chosen(const InputOptions& input) {
  if (input.columns.empty()) return;
  for (const auto& [from, to] : input.renamed) {
    if (std::find(input.columns.begin(), input.columns.end(), from) != input.columns.end())
      continue;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("--rename gives '{}' the name '{}', but --columns leaves '{}' out: name "
                    "it there, too, by the name that it has in the input",
                    from, to, from));
  }
}

InputOptions input_options(const ConvertCommandOptions& options, std::stop_token stop = {}) {
  InputOptions input = options.from.input;
  input.stop = std::move(stop);
  input.has_header = !options.from.has_no_header;
  if (!options.from.delimiter.empty()) input.delimiter = parse_delimiter(options.from.delimiter);
  if (!options.from.schema_file.empty()) input.kinds = read_schema(options.from.schema_file);
  for (const std::string& pair : options.from.renamed) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--rename takes OLD=NEW, but '{}' is given", pair));
    }
    const auto [renamed, is_new] =
        input.renamed.try_emplace(pair.substr(0, equals), pair.substr(equals + 1));
    if (!is_new && renamed->second != pair.substr(equals + 1)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--rename gives '{}' two names, '{}' and '{}'; name one",
                              renamed->first, renamed->second, pair.substr(equals + 1)));
    }
  }
  require_chosen(input);
  return input;
}

ConvertSource input_source(const ConvertCommandOptions& options) {
  return {options.from.name, true, redacted_url(options.from.inputs.front()),
          [options](std::stop_token stop) {
            return open_input(options.from.inputs, input_options(options, std::move(stop)));
          }};
}

/// True if an option says how INPUT is read.
bool describes_an_input(const InputOptions& options) {
  return options.kind != "auto" || !options.has_header || options.delimiter ||
         !options.nulls.empty() || !options.kinds.empty() || !options.classes_file.empty() ||
         !options.columns.empty() || !options.renamed.empty() || options.images.decode ||
         options.images.trust;
}

/// Refuses a folder that is read and written: the next call, which goes on, would take the shards in
/// it for its input.
void require_other_folder(const ConvertCommandOptions& options) {
  const std::string& kind = options.from.input.kind;
  if (kind != "auto" && kind != "records") return;  // others don't look at record files
  for (const std::string& input : options.from.inputs) {
    std::error_code ignored;
    if (!fs::is_directory(input, ignored) || !fs::equivalent(input, options.to.output, ignored))
      continue;
    throw Error(ErrorCode::invalid_argument,
                "the folder is input and output, so that the next call would take the shards in it "
                "for its input; choose another folder for the output (-o)")
        .at_file(input);
  }
}

/// Refuses a name that wouldn't change anything.
void require_name_in_use(const ConvertCommandOptions& options) {
  if (options.to.validation_share == 0 || options.from.name == InputChoice().name) return;
  throw Error(
      ErrorCode::invalid_argument,
      "--name is given with --validation, whose sets are called train and validation; leave "
      "it out, and tell sets apart by their folders (-o)");
}

/// Refuses options that wouldn't change anything: the sets of a folder of IDX files have names, and only
/// the training images are split.
void require_options_of_idx_folder(const ConvertCommandOptions& options) {
  if (options.from.name != InputChoice().name) {
    throw Error(ErrorCode::invalid_argument,
                "--name is for an INPUT or --images: the sets of --data are called train and test");
  }
  if (options.from.split == to_string(Split::test) && options.to.validation_share > 0) {
    throw Error(ErrorCode::invalid_argument,
                "--validation splits the training images of --data, but --split test takes the "
                "others only");
  }
}

}  // namespace

std::vector<ConvertSource> list_sources(const ConvertCommandOptions& options) {
  const auto idx_pair = [](const std::string& name, bool is_split, IdxPair files) -> ConvertSource {
    return {name, is_split, files.images_file, [files](const std::stop_token&) {
              return open_idx_pair(files.images_file, files.labels_file);
            }};
  };
  require_other_folder(options);
  require_name_in_use(options);
  if (!options.from.inputs.empty()) return {input_source(options)};
  if (describes_an_input(input_options(options))) {
    throw Error(
        ErrorCode::invalid_argument,
        "no INPUT is named, but an option says how it is read (--kind, --columns, "
        "--delimiter, --decode-images, ...): name its files. Without an INPUT these are the "
        "images of IDX files, with the columns image and label");
  }
  if (!options.from.images_file.empty()) {
    return {
        idx_pair(options.from.name, true, {options.from.images_file, options.from.labels_file})};
  }
  require_options_of_idx_folder(options);
  std::vector<ConvertSource> result;
  for (const Split split : {Split::train, Split::test}) {
    const std::string name(to_string(split));
    if (options.from.split != "both" && options.from.split != name) continue;
    result.push_back(
        idx_pair(name, split == Split::train, find_idx_pair(options.from.data, split)));
  }
  return result;
}

std::string kinds_text(const ConvertCommandOptions& options) {
  std::vector<std::string> kinds = input_kinds(options.from.input.own_kinds);
  kinds.erase(kinds.begin());  // auto
  return fmt::format("{}", fmt::join(kinds, ", "));
}

std::vector<ConvertSet> sets_of(const ConvertSource& source, const ConvertCommandOptions& options) {
  if (options.to.validation_share == 0 || !source.is_split) return {{source.name, SplitPart::all}};
  return {{"train", SplitPart::train}, {"validation", SplitPart::validation}};
}

}  // namespace infeed::tools
