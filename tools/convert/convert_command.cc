#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <unistd.h>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/error.h>
#include <infeed/records/files.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/exit_status.h"
#include "cli/json_text.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "convert/convert.h"
#include "convert/convert_report.h"
#include "convert/convert_sources.h"
#include "convert/convert_together.h"
#include "convert/images/class_list.h"
#include "convert/images/image_command_options.h"
#include "convert/replacement.h"

namespace infeed::tools {
namespace {

class ConvertRun {
 public:
  ConvertRun(const ConvertCommandOptions& options, std::stop_token stop)
      : options_(options),
        stop_(std::move(stop)),
        terminal_(stdout, {.colours = !options.no_color}) {}

  void run() {
    compression_of(options_.to.compression);  // so that a wrong level is said at once
    require_work_folder();
    if (!options_.is_dry_run) ranks_ = join_job(options_.together);
    if (ranks_) together_.emplace(*ranks_, notes_of_ranks());
    try {
      convert_all();
      end_lost_ranks();
    } catch (const std::exception& error) {
      if (ranks_) ranks_->abort(error.what());  // the others would wait for this rank
      throw;
    }
  }

 private:
  /// Opens the input. Reading it through can take minutes, and nothing is written meanwhile: a stop
  /// ends the program at once.
  std::unique_ptr<ExampleInput> open(const ConvertSource& source) {
    const std::stop_callback at_stop(stop_, [this] {
      terminal_.clear_status();
      std::fputs("infeed: stopped while the input was read; nothing was begun with it\n", stderr);
      ::_exit(kExitInterrupted);
    });
    return source.open(stop_);
  }

  void require_work_folder() const {
    if (is_url(options_.to.output) == !options_.to.work.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                options_.to.work.empty()
                    ? "-o is a URL: name a folder of this machine for plan, journal and the shards "
                      "at work with --work DIR"
                    : "--work is for an output that is a URL (-o s3://bucket/folder)");
  }

  void convert_all() {
    if (!options_.json_file.empty() && is_chief()) check_can_write(options_.json_file);
    for (const ConvertSource& source : list_sources(options_)) {
      if (is_chief()) {
        terminal_.status(fmt::format("{}: reading {}", source.name, source.description));
      }
      const auto input = open(source);
      if (is_chief()) show_facts(source.name, *input);
      for (const ConvertSet& set : sets_of(source, options_)) convert_set(*input, set);
    }
    if (options_.json_file.empty() || !is_chief()) return;
    const nlohmann::json json{{"sets", sets_},
                              {"notes", notes_},
                              {"dry_run", options_.is_dry_run},
                              {"infeed_version", INFEED_VERSION}};
    replace_file(options_.json_file, json_text(json));
  }

  ConvertRanksOptions notes_of_ranks() {
    return {.on_note = [this](const std::string& note) {
      terminal_.line(terminal_.paint(Paint::warning, note));
    }};
  }

  /// Ends the job if a rank is lost, for which the end of MPI would wait for ever.
  void end_lost_ranks() {
    if (!together_ || together_->lost().empty()) return;
    std::fflush(stdout);
    ranks_->abort(fmt::format("the dataset is complete, but rank {} is silent, so it must be ended",
                              *together_->lost().begin()));
  }

  /// True for the one rank that reports.
  bool is_chief() const { return !ranks_ || ranks_->world().rank == 0; }

  void show_facts(const std::string& name, const ExampleInput& input) {
    for (const std::string& note : input.notes()) {
      terminal_.line(fmt::format("{}: {}", name, note));
      notes_.push_back(note);
    }
    if (const std::vector<std::string> classes = input.classes(); !classes.empty()) {
      terminal_.line(fmt::format("{}: classes: {}", name, describe_classes(classes)));
    }
  }

  void convert_set(const ExampleInput& input, const ConvertSet& set) {
    if (stop_.stop_requested()) {
      throw Error(ErrorCode::cancelled,
                  fmt::format("stopped before the {} shards were begun; finished sets were kept",
                              set.name));
    }
    ConvertOptions options = convert_options(set);
    if (options_.is_dry_run) {
      const ConvertEstimate estimate = estimate_conversion(input, options);
      print_estimate(terminal_, set.name, input, estimate);
      sets_.push_back(tools::describe(set.name, input, estimate));
      return;
    }
    ProgressLine line(terminal_, set.name);
    options.on_progress = [&](const ConvertProgress& progress) { line.show(progress); };
    const ConvertResult result =
        together_ ? together_->convert(input, options) : convert(input, options);
    if (!is_chief()) return;
    print_result(terminal_, set.name, input, result);
    sets_.push_back(tools::describe(set.name, input, result));
    if (const auto replacement = unfinished_replacement(DatasetNames(options.prefix))) {
      terminal_.line(
          terminal_.paint(Paint::warning, fmt::format("{}: {}", set.name, *replacement)));
      notes_.push_back(*replacement);
    }
  }

  ConvertOptions convert_options(const ConvertSet& set) const {
    const bool is_store = is_url(options_.to.output);
    return {.prefix = (is_store ? options_.to.work : options_.to.output) + "/" + set.name,
            .shard_count = options_.to.shards,
            .shard_bytes = options_.to.shard_bytes,
            .compression = compression_of(options_.to.compression),
            .compression_level = options_.to.compression.level,
            .existing = options_.to.overwrite ? ExistingDataset::replace : ExistingDataset::refuse,
            .seed = options_.to.seed,
            .part = set.part,
            .validation_share = options_.to.validation_share,
            .split_column = options_.to.split_column,
            .quarantine_max = options_.to.quarantine_max,
            .check_content = options_.to.check,
            .durability = options_.no_sync ? Durability::leave_to_system : Durability::synced,
            .threads = options_.threads,
            .store_url = is_store ? options_.to.output : std::string(),
            .share = share_of(options_.together),
            .finish_only = options_.together.finish,
            .stop = stop_};
  }

  const ConvertCommandOptions& options_;
  const std::stop_token stop_;
  Terminal terminal_;
  std::unique_ptr<Communicator> ranks_;  // empty in one process
  std::optional<ConvertRanks> together_;
  nlohmann::json sets_ = nlohmann::json::array();
  nlohmann::json notes_ = nlohmann::json::array();
};

void add_choice_options(CLI::App& command, ConvertCommandOptions& options) {
  command
      .add_option("--name", options.from.name,
                  "Begin of the shards' names; the sets of --validation are called train and "
                  "validation instead")
      ->capture_default_str();
  command
      .add_option("--columns", options.from.input.columns,
                  "Only these columns, as in --columns a,b")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command
      .add_option("--rename", options.from.renamed,
                  "Another name in the shards for a column, as in --rename a=x,b=y")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("OLD=NEW");
}

void add_kind_options(CLI::App& command, ConvertCommandOptions& options) {
  command
      .add_option("--schema", options.from.schema_file,
                  "Kinds of columns of csv, tsv and jsonl, for those that shall not be inferred: "
                  R"({"columns": {"age": "integers", "price": "floats", "note": "bytes"}})")
      ->type_name("FILE");
  add_image_options(command, options.from.input.images);
  command
      .add_option("--classes", options.from.input.classes_file,
                  "Folders of images: the classes in the order of their labels: a text with one a "
                  "line, or the manifest of a set that was converted before")
      ->type_name("FILE");
  command
      .add_option("--delimiter", options.from.delimiter,
                  "csv and tsv: the separator of the columns: one character, or tab")
      ->type_name("CHAR");
  command
      .add_option("--nulls", options.from.input.nulls,
                  "csv and tsv: cells that hold no value besides empty ones, as in --nulls NA,null")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("WORDS");
  command.add_flag("--no-header", options.from.has_no_header,
                   "csv and tsv: the first row is an example, too; the columns are column1...");
}

void add_input_options(CLI::App& command, ConvertCommandOptions& options) {
  CLI::Option* const inputs = command.add_option(
      "INPUT", options.from.inputs,
      "Files, patterns in quotes, a folder of record files, or one of images with a folder a "
      "class: " +
          kinds_text(options));
  command
      .add_option("--kind", options.from.input.kind,
                  "Kind of the inputs, when their names don't say it")
      ->check(one_of(input_kinds(options.from.input.own_kinds)))
      ->capture_default_str()
      ->type_name("NAME");
  add_choice_options(command, options);
  add_kind_options(command, options);
  CLI::Option* const data =
      command
          .add_option("--data", options.from.data,
                      "Without INPUT: a folder with Fashion-MNIST's (or MNIST's) IDX files")
          ->capture_default_str()
          ->excludes(inputs)
          ->type_name("DIR");
  CLI::Option* const images =
      command.add_option("--images", options.from.images_file, "One IDX file of images instead")
          ->type_name("FILE")
          ->excludes(inputs)
          ->excludes(data);
  CLI::Option* const labels =
      command.add_option("--labels", options.from.labels_file, "Its labels")->type_name("FILE");
  images->needs(labels);
  labels->needs(images);
  command.add_option("--split", options.from.split, "Part of --data: train, test or both")
      ->check(one_of({"train", "test", "both"}))
      ->capture_default_str()
      ->type_name("NAME")
      ->excludes(images)
      ->excludes(inputs);
}

void add_output_options(CLI::App& command, ConvertCommandOptions& options) {
  command
      .add_option("-o,--output", options.to.output,
                  "Folder for the shards; made if it isn't there. Or a URL, to which each shard is "
                  "uploaded: s3://bucket/folder, or http(s) for a server that takes PUT")
      ->required()
      ->type_name("DIR");
  command
      .add_option("--work", options.to.work,
                  "With a URL: folder on this machine for plan, journal and the shards at work")
      ->type_name("DIR");
  CLI::Option* const shards =
      command
          .add_option("--shards", options.to.shards,
                      "Shards of each set; without it one for each 128 MiB before compression, 1 "
                      "to 4096, or as many as a stopped conversion began with")
          ->check(CLI::Range(1, 99'999));
  command
      .add_option("--shard-size", options.to.shard_bytes,
                  "About this size for each shard instead, before compression: 128MB, 1GiB")
      ->transform(CLI::AsSizeValue(true))
      ->check(is_positive())
      ->excludes(shards)
      ->type_name("BYTES");
  add_compression_options(command, options.to.compression);
  command.add_option(
      "--seed", options.to.seed,
      "Shuffle all examples, differently with each seed; else they keep their order");
  CLI::Option* const validation =
      command
          .add_option("--validation", options.to.validation_share,
                      "Put that share (0.1) aside as a set of its own, chosen by a hash of each "
                      "example's name: its file's, and the row in it")
          ->check(CLI::Range(0.0, 1.0))
          ->type_name("SHARE");
  command
      .add_option("--split-by", options.to.split_column,
                  "Choose by a hash of this column's value instead: all rows of a user, or all "
                  "copies of an image, are then in one set, whatever their files are called")
      ->needs(validation)
      ->type_name("COLUMN");
  command
      .add_option("--quarantine-max", options.to.quarantine_max,
                  "Leave out up to that many bad examples of each set; the manifest lists them")
      ->capture_default_str();
  command.add_flag("--overwrite", options.to.overwrite, "Replace a dataset that exists");
  command.add_flag(
      "--check", options.to.check,
      "Also read a dataset that is complete, and make its damaged shards anew; without "
      "it only shards that are missing or have another size");
}

void add_run_options(CLI::App& command, ConvertCommandOptions& options) {
  add_together_options(command, options.together);
  command.add_flag("--dry-run", options.is_dry_run,
                   "Only say what would be done, how large it gets and how long it takes");
  command.add_option("--json", options.json_file, "Also write the results there, as JSON")
      ->type_name("FILE");
  command
      .add_option("--threads", options.threads, "Threads to use; 0: two a core, one with --no-sync")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_flag("--no-sync", options.no_sync,
                   "Leave to the system when bytes reach the disk: faster, and still safe when the "
                   "program is killed, but not when the power is cut");
  command.add_flag("--no-color", options.no_color, "No colours");
}

}  // namespace

Command add_convert_command(CLI::App& app, const std::vector<InputKind>& own_kinds) {
  const auto options = std::make_shared<ConvertCommandOptions>();
  options->from.input.own_kinds = own_kinds;
  CLI::App* const command =
      app.add_subcommand("convert", "Write TFRecord shards of tf.train.Example from other data");
  add_input_options(*command, *options);
  add_output_options(*command, *options);
  add_run_options(*command, *options);
  command->footer(
      "Examples: infeed convert 'logs/*.jsonl.gz' -o data --validation 0.1 --seed 42\n"
      "          infeed convert photos/ -o data --shard-size 128MB\n"
      "          infeed convert 'old/train-*.tfrecord' -o data --name train --compression gzip\n"
      "          infeed convert -o data --shards 16\n"
      "The last writes data/train-00000-of-00016.tfrecord and so on, an index beside each, and "
      "data/train.manifest.json when all are whole. Stopped or killed, the same command goes on "
      "where it was; the result is the same to the byte.\n");
  return {.options = command,
          .run = [options](std::stop_token stop) { ConvertRun(*options, std::move(stop)).run(); }};
}

Command add_reshard_command(CLI::App& app) {
  const auto options = std::make_shared<ConvertCommandOptions>();
  options->from.input.kind = "records";
  CLI::App* const command = app.add_subcommand(
      "reshard", "Write records into other shards: another count, order, compression, columns");
  command
      ->add_option("FILE", options->from.inputs,
                   "Record files, patterns in quotes, or a folder of one set")
      ->required();
  add_choice_options(*command, *options);
  add_output_options(*command, *options);
  add_run_options(*command, *options);
  command->footer(
      "Example: infeed reshard 'old/train-*.tfrecord' -o new --name train --shards 64 --seed 42\n"
      "Records pass through as they are, unless columns are chosen. It can be stopped or killed "
      "and "
      "goes on, as infeed convert does.\n");
  return {.options = command,
          .run = [options](std::stop_token stop) { ConvertRun(*options, std::move(stop)).run(); }};
}

}  // namespace infeed::tools
