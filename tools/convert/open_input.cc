#include "convert/open_input.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/files.h>

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
                                             {".tar", "tar"},
                                             {".tfrecord", "records"},
                                             {".tfrecords", "records"},
                                             {".tfrecord.lz4", "records"}}};

std::string kind_by_name(const std::string& file) {
  std::string name = file;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.ends_with(".tgz")) return "tar";
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const NameEnd& known : kNameEnds) {
    if (name.ends_with(known.end)) return std::string(known.kind);
  }
  if (parse_shard_name(file)) return "records";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the name of '{}' doesn't say what is in it; say it with --kind: {}",
                          file, fmt::join(input_kinds(), ", ")));
}

std::unique_ptr<ExampleInput> open_files(const Files& files, const std::string& kind,
                                         const InputOptions& options) {
  if (kind == "csv") return open_table(files, ',', options);
  if (kind == "tsv") return open_table(files, '\t', options);
  if (kind == "jsonl") return open_json_lines(files, options);
  if (kind == "npy") return open_npy(files);
  if (kind == "tar") return open_tar(files);
  if (kind == "records") return open_records(files);
  if (kind == "files") return open_plain_files(files);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--kind images takes a folder with a folder a class, but '{}' is a file",
                          files.front()));
}

Files require_one_kind(const Files& files, const std::string& kind) {
  for (const std::string& file : files) {
    const std::string other = kind_by_name(file);
    if (other == kind) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' seems to be {} and '{}' {}: one dataset has one kind; convert "
                            "them one by one, or say the kind with --kind",
                            files.front(), kind, file, other));
  }
  return files;
}

std::unique_ptr<ExampleInput> open_any(const std::vector<std::string>& names,
                                       const InputOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(names.front(), ignored)) {
    if (names.size() > 1 || (options.kind != "auto" && options.kind != "images")) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' is a folder, which is read as one folder of images with a "
                              "folder a class; for other data name the files in it: '{}/*'",
                              names.front(), names.front()));
    }
    return open_image_folder(names.front());
  }
  const Files files = match_files(names);
  if (options.kind != "auto") return open_files(files, options.kind, options);
  const std::string kind = kind_by_name(files.front());
  return open_files(require_one_kind(files, kind), kind, options);
}

}  // namespace

std::vector<std::string> input_kinds() {
  return {"auto", "csv", "tsv", "jsonl", "npy", "images", "tar", "records", "files"};
}

std::unique_ptr<ExampleInput> open_input(const std::vector<std::string>& names,
                                         const InputOptions& options) {
  auto input = open_any(names, options);
  if (options.columns.empty() && options.renamed.empty()) return input;
  return choose_columns(std::move(input), options);
}

}  // namespace infeed::tools
