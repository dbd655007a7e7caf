#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/output_file.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/shard_manifest.h>
#include <infeed/records/whole_set.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/side_file.h"
#include "cli/terminal.h"
#include "dataset/record_scan.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

struct RepairOptions {
  std::string file;
  std::string output;
  std::string json_file;
  bool overwrite = false;
};

/// Throws if the output is the input: a repair in place could lose data that a better tool saves.
void require_another_file(const std::string& file, const std::string& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(file, output, ignored)) return;
  throw Error(ErrorCode::invalid_argument,
              "the damaged file itself is named as the output; it is kept, so name another file")
      .at_file(output);
}

/// Returns the compression of what is saved: the input's, but gzip for zstd, which is only read.
Compression output_compression(const std::string& file) {
  const Compression compression = compression_of_file(file);
  return compression == Compression::zstd ? Compression::gzip : compression;
}

struct NameEnd {
  std::string_view end;
  Compression compression;
};
constexpr std::array<NameEnd, 4> kNameEnds{{{".gz", Compression::gzip},
                                            {".lz4", Compression::lz4},
                                            {".zst", Compression::zstd},
                                            {".zstd", Compression::zstd}}};

/// Returns the ending of `name` that tells a compression; null if none does.
const NameEnd* name_end_of(std::string_view name) {
  const auto found = std::find_if(kNameEnds.begin(), kNameEnds.end(),
                                  [&](const NameEnd& one) { return name.ends_with(one.end); });
  return found == kNameEnds.end() ? nullptr : found;
}

/// Throws if the output's name tells another compression than it will have.
void require_true_name(const std::string& output, Compression compression) {
  const NameEnd* const said = name_end_of(output);
  if (said == nullptr || said->compression == compression) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("the saved records will be {}{}, but the output's name ends with {}; "
                  "give it another ending",
                  to_string(compression),
                  said->compression == Compression::zstd ? " (zstd is only read)" : "", said->end))
      .at_file(output);
}

/// The result for one file.
struct Repaired {
  std::string file;
  std::string output;
  RecordScan scan;
  /// Records that its set's manifest counts; nothing where no manifest lists it.
  std::optional<std::uint64_t> records_wanted = std::nullopt;
};

Json report_of(const Repaired& repaired) {
  Json lost = Json::array();
  for (const DamagedRange& range : repaired.scan.damaged) {
    lost.push_back({{"begin", range.begin},
                    {"end", range.end},
                    {"record", range.record},
                    {"message", range.message}});
  }
  Json report{{"file", repaired.file},
              {"output", repaired.output},
              {"records_saved", repaired.scan.records},
              {"lost", lost},
              {"infeed_version", INFEED_VERSION}};
  if (repaired.records_wanted) report["records_in_manifest"] = *repaired.records_wanted;
  return report;
}

RecordWriter open_output(const std::string& output, Compression compression, bool overwrite) {
  const ExistingFile existing = overwrite ? ExistingFile::replace : ExistingFile::refuse;
  try {
    return RecordWriter(output, shard_options(compression, existing, Durability::synced));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::already_exists) throw;
    throw Error(error.code(), error.message() + "; --overwrite replaces it").at_file(output);
  }
}

RecordScan scan_to(RecordWriter& writer, const std::string& file, const std::stop_token& stop) {
  const auto write = [&](const Record& record) {
    writer.write(record.bytes());
    return true;
  };
  try {
    return scan_records(file, write, {.stop = stop});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    throw Error(ErrorCode::cancelled, "stopped; nothing was written");
  }
}

/// The records that a set's manifest counts in a file. A manifest that can't be read keeps nobody from
/// saving records.
std::optional<std::uint64_t> records_listed(ShardManifests& manifests,
                                            const std::string& file) try {
  const std::optional<ManifestShard> listed = manifests.find(file);
  return listed ? std::optional(listed->examples) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

Repaired repair_file(const std::string& file, const std::string& output, bool overwrite,
                     ShardManifests& manifests, const std::stop_token& stop) {
  require_another_file(file, output);
  const Compression compression = output_compression(file);
  RecordWriter writer = open_output(output, compression, overwrite);
  RecordScan scan = scan_to(writer, file, stop);
  if (scan.records == 0 && !scan.damaged.empty()) {
    throw Error(ErrorCode::data_loss,
                fmt::format("no whole record was found, so nothing was written; is it a record "
                            "file? ({})",
                            tools::describe(scan.damaged.front())))
        .at_file(file);
  }
  writer.close();
  write_side_file(writer, compression, Durability::synced);
  return {redacted_url(file), output, std::move(scan), records_listed(manifests, file)};
}

std::string compared_with_manifest(const Repaired& repaired) {
  const std::uint64_t saved = repaired.scan.records;
  if (!repaired.records_wanted) {
    return repaired.scan.damaged.empty()
               ? "every record in it is whole; no manifest says how many there were"
               : "no manifest says how many records there were";
  }
  const std::uint64_t wanted = *repaired.records_wanted;
  if (saved == wanted) return "nothing was lost: its set's manifest lists as many records";
  const std::uint64_t difference = saved < wanted ? wanted - saved : saved - wanted;
  return fmt::format("its set's manifest lists {}, so {} {} {}", counted(wanted, "record"),
                     with_commas(difference), difference == 1 ? "is" : "are",
                     saved < wanted ? "lost" : "too many");
}

void print(Terminal& terminal, const Repaired& repaired) {
  const RecordScan& scan = repaired.scan;
  terminal.line(fmt::format("{}: {} saved in {}", repaired.file, counted(scan.records, "record"),
                            repaired.output));
  std::uint64_t bytes = 0;
  for (const DamagedRange& range : scan.damaged) {
    terminal.line("  lost: " + tools::describe(range));
    bytes += range.end - range.begin;
  }
  if (!scan.damaged.empty()) {
    terminal.line(fmt::format("  {} in {} could not be saved", counted(bytes, "byte"),
                              counted(scan.damaged.size(), "range")));
  }
  terminal.line("  " + compared_with_manifest(repaired));
}

/// True for a file that zstd packed. One that can't be read is none: saving it says why.
bool is_zstd(const std::string& file) try {
  return compression_of_file(file) == Compression::zstd;
} catch (const Error&) {
  return false;
}

/// Returns the name of a file's output in a folder: its own, but .gz in the place of .zst.
std::string output_name(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  const NameEnd* const end = name_end_of(name);
  const bool changes = end != nullptr && end->compression == Compression::zstd && is_zstd(file);
  return changes ? name.substr(0, name.size() - end->end.size()) + ".gz" : name;
}

/// Returns the outputs of a folder's files. Throws where two would be the same one, of which only the
/// later would be left.
std::vector<std::string> outputs_of(const std::vector<std::string>& files,
                                    const std::string& folder) {
  std::vector<std::string> outputs;
  for (const std::string& file : files) {
    outputs.push_back((std::filesystem::path(folder) / output_name(file)).string());
    const auto same = std::find(outputs.begin(), outputs.end() - 1, outputs.back());
    if (same == outputs.end() - 1) continue;
    const auto other = static_cast<std::size_t>(same - outputs.begin());
    throw Error(ErrorCode::invalid_argument,
                fmt::format("its records would be saved in '{}', as those of '{}' would (zstd is "
                            "only read, so gzip is written): nothing was written; repair them one "
                            "by one, into files of different names",
                            outputs.back(), files[other]))
        .at_file(file);
  }
  return outputs;
}

/// Repairs all record files of a folder, whole ones too, so that the output is a dataset.
class FolderRepair {
 public:
  FolderRepair(const RepairOptions& options, Terminal& terminal, const std::stop_token& stop)
      : options_(options),
        terminal_(terminal),
        stop_(stop),
        files_(list_record_files(options.file)),
        outputs_(outputs_of(files_, options.output)) {}

  void save_all() {
    make_folder(options_.output);
    for (std::size_t i = 0; i < files_.size(); ++i) save(i);
    for (const SetProblem& problem : find_set_problems(files_)) {
      // A cut shard stands among the files above.
      if (std::find(files_.begin(), files_.end(), problem.file) != files_.end()) continue;
      terminal_.line(fmt::format("{}: {}", problem.file, problem.text));
      problems_.push_back({{"file", problem.file}, {"problem", problem.text}});
    }
  }

  Json report() const {
    return {{"files", reports_}, {"set_problems", problems_}, {"infeed_version", INFEED_VERSION}};
  }

  void require_all_saved() const {
    if (unsaved_ == 0) return;
    throw Error(ErrorCode::data_loss,
                fmt::format("nothing could be saved of {} of {} files, as said above; the records "
                            "of the others are in '{}'",
                            unsaved_, files_.size(), options_.output));
  }

 private:
  /// Saves a file. One that can't be read keeps nobody from saving the others.
  void save(std::size_t i) {
    const std::string& file = files_[i];
    try {
      const Repaired repaired =
          repair_file(file, outputs_[i], options_.overwrite, manifests_, stop_);
      print(terminal_, repaired);
      reports_.push_back(report_of(repaired));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) {
        throw Error(ErrorCode::cancelled,
                    fmt::format("stopped: {} of {} files are done; the same command with "
                                "--overwrite saves all of them",
                                i, files_.size()));
      }
      if (error.file() != file) throw;
      terminal_.line(fmt::format("{}: nothing saved: {}", file, error.message()));
      reports_.push_back({{"file", file}, {"records_saved", 0}, {"error", error.message()}});
      ++unsaved_;
    }
  }

  const RepairOptions& options_;
  Terminal& terminal_;
  const std::stop_token& stop_;
  const std::vector<std::string> files_;
  const std::vector<std::string> outputs_;
  ShardManifests manifests_;
  std::size_t unsaved_ = 0;
  Json reports_ = Json::array();
  Json problems_ = Json::array();
};

void run(const RepairOptions& options, const std::stop_token& stop) {
  Terminal terminal(stdout);
  if (!options.json_file.empty()) check_can_write(options.json_file);
  std::error_code ignored;
  const auto write_report = [&](const Json& report) {
    if (!options.json_file.empty()) replace_file(options.json_file, json_text(report));
  };
  if (std::filesystem::is_directory(options.file, ignored)) {
    FolderRepair repair(options, terminal, stop);
    repair.save_all();
    write_report(repair.report());
    repair.require_all_saved();
    return;
  }
  require_true_name(options.output, output_compression(options.file));
  ShardManifests manifests;
  const Repaired repaired =
      repair_file(options.file, options.output, options.overwrite, manifests, stop);
  print(terminal, repaired);
  write_report(report_of(repaired));
}

}  // namespace

Command add_repair_command(CLI::App& app) {
  const auto options = std::make_shared<RepairOptions>();
  CLI::App* const command =
      app.add_subcommand("repair", "Save the whole records of a damaged file, and list the rest");
  command
      ->add_option("FILE", options->file,
                   "The damaged record file, or a folder of them; it is left as it is")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "The file for the whole records; if FILE is a folder, the folder for the files")
      ->required()
      ->type_name("FILE");
  command->add_flag("--overwrite", options->overwrite, "Replace the output file if it exists");
  command->add_option("--json", options->json_file, "Also write what was lost there, as JSON")
      ->type_name("FILE");
  command->footer(
      "Example: infeed repair train-00003-of-00016.tfrecord -o saved.tfrecord\n"
      "Offsets in a compressed file count decompressed bytes. Behind damage inside a gzip, zlib "
      "or zstd stream nothing can be saved; in an lz4 file it goes on with the next block. The "
      "output is compressed as the input is, but by gzip in place of zstd, and its name must not "
      "say otherwise.\n"
      "Each file of a folder that has a whole record is saved; exit status 1 when a file has "
      "none.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
