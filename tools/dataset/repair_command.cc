#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include <infeed/error.h>
#include <infeed/records/output_file.h>
#include <infeed/records/record_writer.h>

#include "cli/side_file.h"
#include "cli/terminal.h"
#include "dataset/dataset_commands.h"
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

/// So that a repair in place never loses what a better tool could still save.
void require_another_file(const RepairOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(options.file, options.output, ignored)) return;
  throw Error(ErrorCode::invalid_argument,
              "the damaged file itself is named as the output; it is kept, so name another file")
      .at_file(options.output);
}

Json report_of(const RepairOptions& options, const RecordScan& scan) {
  Json lost = Json::array();
  for (const DamagedRange& range : scan.damaged) {
    lost.push_back({{"begin", range.begin},
                    {"end", range.end},
                    {"record", range.record},
                    {"message", range.message}});
  }
  return {{"file", options.file},
          {"output", options.output},
          {"records_saved", scan.records},
          {"lost", lost},
          {"infeed_version", INFEED_VERSION}};
}

void run(const RepairOptions& options, const std::stop_token& stop) {
  Terminal terminal(stdout);
  require_another_file(options);
  if (!options.json_file.empty()) check_can_write(options.json_file);
  const Compression compression = RecordReader(options.file).compression();
  const ExistingFile existing = options.overwrite ? ExistingFile::replace : ExistingFile::refuse;
  RecordWriter writer(options.output, shard_options(compression, existing, Durability::synced));
  const RecordScan scan = scan_records(options.file, [&](const Record& record) {
    writer.write(record.bytes());
    return !stop.stop_requested();
  });
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped; nothing was written");
  if (scan.records == 0 && !scan.damaged.empty()) {
    throw Error(ErrorCode::data_loss,
                fmt::format("no whole record was found, so nothing was written; is it a record "
                            "file? ({})",
                            tools::describe(scan.damaged.front())))
        .at_file(options.file);
  }
  writer.close();
  write_side_file(writer, compression, Durability::synced);
  terminal.line(fmt::format("{}: {} records saved in {}", options.file, with_commas(scan.records),
                            options.output));
  std::uint64_t bytes = 0;
  for (const DamagedRange& range : scan.damaged) {
    terminal.line("  lost: " + tools::describe(range));
    bytes += range.end - range.begin;
  }
  terminal.line(scan.damaged.empty() ? "  nothing was lost: every record is whole"
                                     : fmt::format("  {} bytes in {} ranges could not be saved",
                                                   bytes, scan.damaged.size()));
  if (!options.json_file.empty()) {
    replace_file(options.json_file, report_of(options, scan).dump(1) + "\n");
  }
}

}  // namespace

Command add_repair_command(CLI::App& app) {
  const auto options = std::make_shared<RepairOptions>();
  CLI::App* const command =
      app.add_subcommand("repair", "Save the whole records of a damaged file, and list the rest");
  command->add_option("FILE", options->file, "The damaged record file; it is left as it is")
      ->required();
  command->add_option("-o,--output", options->output, "The file for the records that are whole")
      ->required()
      ->type_name("FILE");
  command->add_flag("--overwrite", options->overwrite, "Replace the output file if it exists");
  command->add_option("--json", options->json_file, "Also write what was lost there, as JSON")
      ->type_name("FILE");
  command->footer(
      "Example: infeed repair train-00003-of-00016.tfrecord -o saved.tfrecord\n"
      "Offsets in a compressed file count decompressed bytes; behind damage inside a gzip or zlib "
      "stream nothing can be saved, in an lz4 file the next block.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
