#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include <infeed/error.h>
#include <infeed/records/files.h>
#include <infeed/records/record_index.h>

#include "cli/command_line.h"
#include "cli/parallel.h"
#include "cli/side_file.h"
#include "cli/terminal.h"

namespace infeed::tools {
namespace {

struct IndexOptions {
  std::vector<std::string> patterns;
  bool is_for_dali = false;
  int threads = 0;
};

/// An index is a file beside the other one.
void require_local(const std::string& file) {
  if (!is_url(file)) return;
  throw Error(
      ErrorCode::invalid_argument,
      "an index is written beside its file, which a URL doesn't allow: index a copy on this "
      "machine, and upload both")
      .at_file(redacted_url(file));
}

void require_plain(const std::string& file) {
  switch (const Compression compression = compression_of_file(file); compression) {
    case Compression::none:
      return;
    case Compression::lz4:
      throw Error(ErrorCode::failed_precondition,
                  "an lz4 file needs no index beside it: it has its own inside, which readers use")
          .at_file(file);
    default:
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("a {} file cannot be indexed: its records are not at fixed places; "
                              "infeed reshard writes it plain, or as gzip with flush points, which "
                              "several threads read",
                              to_string(compression)))
          .at_file(file);
  }
}

void run(const IndexOptions& options, const std::stop_token& stop) {
  Terminal terminal(stdout);
  const std::vector<std::string> files = match_record_files(options.patterns);
  for (const std::string& file : files) require_local(file);
  std::vector<std::uint64_t> records(files.size());
  for_each_in_parallel(files.size(), options.threads, stop, [&](std::size_t i) {
    require_plain(files[i]);
    const RecordIndex index = index_records(files[i], stop);
    records[i] = index.size();
    if (options.is_for_dali) {
      write_dali_index(index, files[i] + ".idx");
    } else {
      write_index(index, files[i] + ".index");
    }
  });
  for (std::size_t i = 0; i < files.size(); ++i) {
    terminal.line(fmt::format("{}.{}: {}", redacted_url(files[i]),
                              options.is_for_dali ? "idx" : "index",
                              counted(records[i], "record")));
  }
}

}  // namespace

Command add_index_command(CLI::App& app) {
  const auto options = std::make_shared<IndexOptions>();
  CLI::App* const command =
      app.add_subcommand("index", "Write an index beside record files, for reading at random");
  command
      ->add_option("FILE", options->patterns, "Plain record files, patterns in quotes, or folders")
      ->required();
  command->add_flag("--dali", options->is_for_dali,
                    "As text for NVIDIA DALI: FILE.idx instead of FILE.index");
  command->add_option("--threads", options->threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->footer(
      "Example: infeed index 'data/train-*.tfrecord'\nAn index that is there is replaced.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
