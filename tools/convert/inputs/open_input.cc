#include "convert/inputs/open_input.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/files.h>

#include "cli/side_file.h"
#include "convert/images/class_list.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

struct NameEnd {
  std::string_view end;
  std::string_view kind;
};

constexpr std::array<NameEnd, 10> kNameEnds{{{".csv", "csv"},
                                             {".tsv", "tsv"},
                                             {".tab", "tsv"},
                                             {".jsonl", "jsonl"},
                                             {".ndjson", "jsonl"},
                                             {".npy", "npy"},
                                             {".npz", "npy"},
                                             {".tar", "tar"},
                                             {".tfrecord", "records"},
                                             {".tfrecords", "records"}}};

constexpr std::array<std::string_view, 4> kCompressedNameEnds{".gz", ".zst", ".zstd", ".lz4"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string kind_by_name(const std::string& file, const std::vector<InputKind>& own_kinds) {
  std::string name = lower(input_file_name(file));
  for (const InputKind& kind : own_kinds) {
    for (const std::string& end : kind.name_ends) {
      if (name.ends_with(lower(end))) return kind.name;
    }
  }
  if (name.ends_with(".tgz")) return "tar";
  for (const std::string_view end : kCompressedNameEnds) {
    if (name.ends_with(end)) {
      name.resize(name.size() - end.size());
      break;
    }
  }
  for (const NameEnd& known : kNameEnds) {
    if (name.ends_with(known.end)) return std::string(known.kind);
  }
  if (parse_shard_name(file)) return "records";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the name of '{}' doesn't say what is in it; say it with --kind: {}",
                          file, fmt::join(input_kinds(own_kinds), ", ")));
}

/// Returns the user's kind of this name; null for infeed's own kinds.
const InputKind* find_kind(const std::vector<InputKind>& own_kinds, const std::string& name) {
  const auto found = std::find_if(own_kinds.begin(), own_kinds.end(),
                                  [&](const InputKind& kind) { return kind.name == name; });
  return found == own_kinds.end() ? nullptr : &*found;
}

TextFormat table_format(const std::string& kind, const InputOptions& options) {
  const bool is_csv = kind == "csv";
  return {
      .rows = {.delimiter = options.delimiter.value_or(is_csv ? ',' : '\t'), .has_quotes = is_csv},
      .is_table = true,
      .is_delimiter_given = options.delimiter.has_value()};
}

void require_table_for_its_options(const std::string& kind, const InputOptions& options) {
  if (kind == "csv" || kind == "tsv") return;
  const auto refuse = [&](std::string_view option, std::string_view kinds) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is for {}, but the input is {}", option, kinds, kind));
  };
  if (options.delimiter) refuse("--delimiter", "csv and tsv");
  if (!options.nulls.empty()) refuse("--nulls", "csv and tsv");
  if (!options.has_header) refuse("--no-header", "csv and tsv");
  if (!options.kinds.empty() && kind != "jsonl") refuse("--schema", "csv, tsv and jsonl");
}

std::unique_ptr<ExampleInput> open_files(const Files& files, const std::string& kind,
                                         const InputOptions& options) {
  require_table_for_its_options(kind, options);
  if (!options.classes_file.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--classes is for folders of images, but the input is {}", kind));
  }
  if (const InputKind* const own = find_kind(options.own_kinds, kind)) return own->open(files);
  if ((options.images.decode || options.images.trust) && kind != "tar") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is for folders of images and for tar, but the input is {}",
                            options.images.decode ? "--decode-images" : "--trust-images", kind));
  }
  if (kind == "csv" || kind == "tsv")
    return open_table(files, table_format(kind, options), options);
  if (kind == "jsonl") return open_json_lines(files, options);
  if (kind == "npy") return open_npy(files, options);
  if (kind == "tar") return open_tar(files, options.images);
  if (kind == "records") return open_records(files);
  if (kind == "files") return open_plain_files(files, options.stop);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--kind images takes a folder with a folder a class, but '{}' is a file",
                          files.front()));
}

Files require_one_kind(const Files& files, const std::string& kind,
                       const std::vector<InputKind>& own_kinds) {
  for (const std::string& file : files) {
    const std::string other = kind_by_name(file, own_kinds);
    if (other == kind) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' seems to be {} and '{}' {}: one dataset has one kind; convert "
                            "them one by one, or say the kind with --kind",
                            files.front(), kind, file, other));
  }
  return files;
}

/// Throws for several sets in one folder, so that training and test data aren't mixed by accident.
Files records_of_one_set(const std::vector<std::string>& names) {
  Files files = match_record_files(names);
  const std::vector<std::string> sets = sets_of_files(files);
  if (sets.size() == 1) return files;
  const std::string& example = sets.front().empty() ? sets.back() : sets.front();
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' holds the shards of {} sets ({}); name those of one: '{}-*'",
                          names.front(), sets.size(), fmt::join(sets, ", "), example));
}

std::unique_ptr<ExampleInput> open_any(const std::vector<std::string>& names,
                                       const InputOptions& options) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(names.front(), ignored);
  if (const InputKind* const own = find_kind(options.own_kinds, options.kind);
      is_folder && own != nullptr) {
    return own->open(names);
  }
  const bool may_be_records =
      options.kind == "records" || (options.kind == "auto" && is_folder && names.size() == 1 &&
                                    holds_record_files(names.front()));
  if (is_folder && may_be_records) return open_files(records_of_one_set(names), "records", options);
  if (is_folder) {
    if (names.size() > 1 || (options.kind != "auto" && options.kind != "images")) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' is a folder, which is read as one folder of images with a "
                              "folder a class, or of record files; for other data name the files "
                              "in it: '{}/*'",
                              names.front(), names.front()));
    }
    require_table_for_its_options("images", options);
    return open_image_folder(names.front(), options.images,
                             options.classes_file.empty() ? std::vector<std::string>()
                                                          : read_class_list(options.classes_file));
  }
  const bool is_kind_given = options.kind != "auto";
  const bool takes_all = is_kind_given && options.kind != "records";
  const Files files =
      match_record_files(names, takes_all ? FilesFound::all : FilesFound::record_files);
  if (is_kind_given) return open_files(files, options.kind, options);
  const std::string kind = kind_by_name(files.front(), options.own_kinds);
  return open_files(require_one_kind(files, kind, options.own_kinds), kind, options);
}

}  // namespace

std::vector<std::string> input_kinds(const std::vector<InputKind>& own_kinds) {
  std::vector<std::string> names{"auto",   "csv", "tsv",     "jsonl", "npy",
                                 "images", "tar", "records", "files"};
  for (const InputKind& kind : own_kinds) names.push_back(kind.name);
  return names;
}

std::unique_ptr<ExampleInput> open_input(const std::vector<std::string>& names,
                                         const InputOptions& options) {
  auto input = open_any(names, options);
  if (options.columns.empty() && options.renamed.empty()) return input;
  return choose_columns(std::move(input), options);
}

}  // namespace infeed::tools
