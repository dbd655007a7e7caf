#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include <infeed/error.h>
#include <infeed/protobuf/message_type.h>
#include <infeed/records/files.h>
#include <infeed/records/inferred_schema.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/option_checks.h"
#include "cli/printable.h"
#include "cli/side_file.h"
#include "cli/terminal.h"
#include "convert/column_statistics.h"
#include "convert/inputs/found_dataset.h"
#include "dataset/picture.h"
#include "dataset/record_scan.h"
#include "dataset/size_histogram.h"
#include "dataset/value_text.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

struct InspectOptions {
  std::vector<std::string> patterns;
  std::uint64_t records_max = 100'000;
  std::uint64_t shown = 3;
  std::uint64_t first = 0;
  std::string picture_column;
  std::string picture_size;
  std::string json_file;
  std::string descriptor_set;
  std::string message;
  bool no_color = false;
  bool ascii = false;
};

std::string describe_values(const Column& column) {
  if (column.kind == FeatureKind::floats) {
    const std::string range = column.finite() == 0
                                  ? "none is finite"
                                  : fmt::format("{:.6g} to {:.6g}, mean {:.6g}", column.float_min,
                                                column.float_max, column.mean());
    return column.not_finite == 0
               ? range
               : fmt::format("{}; {} not finite", range, with_commas(column.not_finite));
  }
  if (column.values == 0) return "no values";
  const char* const unit = column.kind == FeatureKind::bytes ? " bytes" : "";
  return fmt::format("{} to {}{}, mean {:.6g}", column.integer_min, column.integer_max, unit,
                     column.mean());
}

class InspectRun {
 public:
  InspectRun(const InspectOptions& options, const std::stop_token& stop)
      : options_(options),
        stop_(stop),
        terminal_(stdout, {.colours = !options.no_color, .unicode = !options.ascii}) {}

  void run() {
    if (!options_.json_file.empty()) check_can_write(options_.json_file);
    if (!options_.descriptor_set.empty()) {
      type_.emplace(options_.descriptor_set, options_.message, stop_);
    }
    FoundRecordFiles found = find_record_files(options_.patterns);
    files_ = std::move(found.files);
    for (const SetProblem& problem : found.set_problems) {
      damage_.push_back(redacted_url(problem.file) + ": " + problem.text);
    }
    sets_ = sets_of_files(files_);
    read_beside();
    for (const std::string& file : files_) {
      if (is_enough()) break;
      look_at(file);
    }
    if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
    print_overview();
    print_columns();
    print_lists();
    histogram_.print(terminal_);
    for (const std::string& text : shown_) terminal_.line(text);
    if (shown_.empty() && options_.first != 0 && options_.shown != 0) {
      terminal_.line(fmt::format("\nThere is no record {}: {} were looked at, from 0 on",
                                 with_commas(options_.first), with_commas(looked_at_)));
    }
    if (!options_.json_file.empty()) replace_file(options_.json_file, json_text(describe()));
    if (damage_.empty()) return;
    throw Error(ErrorCode::data_loss,
                fmt::format("{} problem{} found; whole records of damaged files can be saved with "
                            "infeed repair",
                            damage_.size(), damage_.size() == 1 ? " was" : "s were"));
  }

 private:
  /// Reads shapes and classes from the manifest of the set; records don't have them.
  void read_beside() {
    const std::optional<Manifest> manifest = find_manifest(files_);
    if (!manifest) return;
    shapes_ = manifest->shapes;
    classes_ = manifest->classes;
  }

  /// Those that are to be printed are looked at in any case.
  std::uint64_t records_max() const {
    const bool asks = options_.first != 0 && options_.shown <= UINT64_MAX - options_.first;
    return std::max(options_.records_max, asks ? options_.first + options_.shown : 0);
  }
  bool is_enough() const { return looked_at_ >= records_max() || stop_.stop_requested(); }

  void look_at(const std::string& file) {
    const RecordScan scan = scan_records(file,
                                         [&](const Record& record) {
                                           add(record.bytes());
                                           histogram_.add(record.size());
                                           show(record);
                                           ++looked_at_;
                                           return !is_enough();
                                         },
                                         {.stop = stop_});
    bytes_looked_at_ += scan.file_bytes.value_or(0);
    compressions_.insert(scan.compression);
    for (const DamagedRange& range : scan.damaged) {
      damage_.push_back(redacted_url(file) + ": " + tools::describe(range));
    }
    ++files_looked_at_;
  }

  void add(std::string_view record) {
    if (!type_) {
      statistics_.add(record);
      schema_.add(record);
      return;
    }
    try {
      type_->check(record);
    } catch (const Error&) {
      ++other_messages_;
    }
  }

  void show(const Record& record) {
    if (looked_at_ < options_.first || looked_at_ >= options_.first + options_.shown) return;
    shown_.push_back(terminal_.paint(
        Paint::bold, fmt::format("\nRecord {} of {}: {} bytes at {}", record.number().value_or(0),
                                 fs::path(record.file()).filename().string(), record.size(),
                                 record.offset().value_or(0))));
    for (std::string& line : type_ ? describe_message(*type_, record.bytes(), terminal_.columns())
                                   : describe_example(record.bytes(), terminal_.columns())) {
      shown_.push_back("  " + std::move(line));
    }
    if (options_.picture_column.empty()) return;
    const Picture picture =
        decode_picture(record.bytes(), options_.picture_column, options_.picture_size);
    for (std::string& line : draw(picture, terminal_)) shown_.push_back("  " + std::move(line));
  }

  void print_overview() {
    std::uint64_t bytes = bytes_looked_at_;
    for (std::size_t i = files_looked_at_; i < files_.size(); ++i) {
      std::error_code ignored;
      const auto size = fs::file_size(files_[i], ignored);
      if (!ignored) bytes += size;
    }
    const std::string files =
        files_.size() == 1
            ? redacted_url(files_.front())
            : fmt::format("{} and {} more", redacted_url(files_.front()), files_.size() - 1);
    terminal_.line(terminal_.paint(Paint::bold, files));
    const bool is_all = looked_at_ < records_max() && files_looked_at_ == files_.size();
    terminal_.line(fmt::format("  {}, {}; {} {}", as_megabytes(bytes), compressions_text(),
                               is_all ? "all" : "looked at the first",
                               counted(looked_at_, "record")));
    if (sets_.size() > 1) {
      for (std::string& set : sets_) set = redacted_url(set);
      terminal_.line(fmt::format("  {} sets together: {}", sets_.size(), fmt::join(sets_, ", ")));
    }
    for (const std::string& text : damage_) {
      terminal_.line("  " + terminal_.paint(Paint::bad, "problem: ") + text);
    }
    // The schema's count also has records of which only the feature lists are damaged.
    if (const std::uint64_t opaque = schema_.schema().opaque_records; opaque > 0) {
      terminal_.line(fmt::format("  {} {} no tf.train.Example", counted(opaque, "record"),
                                 opaque == 1 ? "is" : "are"));
    }
    if (other_messages_ > 0) {
      terminal_.line(fmt::format("  {} {} no {}", counted(other_messages_, "record"),
                                 other_messages_ == 1 ? "is" : "are",
                                 printable(type_->name(), 60)));
    }
    if (!classes_.empty()) terminal_.line("  " + classes_text());
  }

  /// "gzip", or "plain and gzip" of files that were packed in several ways.
  std::string compressions_text() const {
    std::vector<std::string_view> names;
    for (const Compression compression : compressions_) names.push_back(to_string(compression));
    return fmt::format("{}", fmt::join(names, " and "));
  }

  std::string classes_text() const {
    constexpr std::size_t kShownMax = 10;
    std::string text = fmt::format("{} classes, by label:", classes_.size());
    for (std::size_t i = 0; i < classes_.size() && i < kShownMax; ++i) {
      text += fmt::format("{} {} {}", i == 0 ? "" : ",", i, printable(classes_[i], 24));
    }
    return classes_.size() > kShownMax ? text + ", ..." : text;
  }

  void print_columns() {
    const std::vector<Column> columns = statistics_.columns();
    if (columns.empty()) return;
    terminal_.line(terminal_.paint(Paint::bold, fmt::format("\n  {:<24} {:<9} {:<12} {}", "column",
                                                            "kind", "per example", "values")));
    for (const Column& column : columns) {
      const std::string per_example =
          column.values_min == column.values_max
              ? fmt::format("{}", column.values_min)
              : fmt::format("{} to {}", column.values_min, column.values_max);
      std::string line = fmt::format("  {:<24} {:<9} {:<12} {}", printable(column.name, 24),
                                     to_string(column.kind), per_example, describe_values(column));
      if (const auto shape = shapes_.find(column.name); shape != shapes_.end()) {
        line += fmt::format("; shape {}", fmt::join(shape->second, "x"));
      }
      if (column.examples < statistics_.examples()) {
        line += fmt::format("; in {} of {}", with_commas(column.examples),
                            with_commas(statistics_.examples()));
      }
      if (column.other_kinds > 0) {
        line += terminal_.paint(Paint::warning, fmt::format("; of another kind in {}",
                                                            with_commas(column.other_kinds)));
      }
      terminal_.line(line);
    }
  }

  void print_lists() {
    const std::vector<InferredFeatureList> lists = schema_.schema().lists;
    if (lists.empty()) return;
    terminal_.line(
        terminal_.paint(Paint::bold, fmt::format("\n  {:<24} {:<9} {:<12} {}", "feature list",
                                                 "kind", "steps", "values in a step")));
    const auto range = [](const ValueRange& values) {
      if (values.is_empty()) return std::string("none");
      return values.is_one_value() ? fmt::format("{}", values.min)
                                   : fmt::format("{} to {}", values.min, values.max);
    };
    for (const InferredFeatureList& list : lists) {
      const InferredFeature& steps = list.steps;
      std::string line = fmt::format("  {:<24} {:<9} {:<12} {}", printable(list.name, 24),
                                     steps.kind ? to_string(*steps.kind) : "none",
                                     range(list.step_count), range(steps.value_count));
      if (list.examples < statistics_.examples()) {
        line += fmt::format("; in {} of {}", with_commas(list.examples),
                            with_commas(statistics_.examples()));
      }
      if (steps.other_kinds > 0) {
        line += terminal_.paint(Paint::warning, fmt::format("; {} of another kind",
                                                            counted(steps.other_kinds, "step")));
      }
      terminal_.line(line);
    }
  }

  nlohmann::json describe() const {
    nlohmann::json json = statistics_.to_json();
    if (type_) {
      json = {
          {"message", type_->name()}, {"records", looked_at_}, {"other_records", other_messages_}};
    } else {
      json["schema"] = nlohmann::json::parse(schema_.schema().to_json());
    }
    for (const std::string& file : files_) json["files"].push_back(redacted_url(file));
    json["classes"] = classes_;
    json["shapes"] = shapes_;
    json["compression"] = compressions_text();
    json["damaged"] = damage_;
    json["record_bytes"] = histogram_.to_json();
    json["infeed_version"] = INFEED_VERSION;
    return json;
  }

  const InspectOptions& options_;
  const std::stop_token& stop_;
  Terminal terminal_;
  std::vector<std::string> files_;
  std::vector<std::string> sets_;
  ColumnShapes shapes_;
  std::vector<std::string> classes_;
  std::size_t files_looked_at_ = 0;
  std::uint64_t bytes_looked_at_ = 0;
  std::uint64_t looked_at_ = 0;
  std::optional<MessageType> type_;     ///< the type of the records, if not Example
  std::uint64_t other_messages_ = 0;    ///< records that are none of the type
  std::set<Compression> compressions_;  ///< each that a file looked at has
  ColumnStatistics statistics_;
  SchemaInference schema_;
  SizeHistogram histogram_;
  std::vector<std::string> shown_;
  std::vector<std::string> damage_;
};

}  // namespace

Command add_inspect_command(CLI::App& app) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* const command =
      app.add_subcommand("inspect", "Show what is in record files: columns, sizes, first values");
  command
      ->add_option("FILE", options->patterns,
                   "Record files (by path or URL), patterns in quotes, or folders")
      ->required();
  command->add_option("--records", options->records_max, "Look at so many records at most")
      ->check(is_positive())
      ->capture_default_str();
  command->add_option("--show", options->shown, "Print so many records")->capture_default_str();
  command->add_option("--first", options->first, "Begin to print at that record")
      ->capture_default_str();
  CLI::Option* const picture =
      command
          ->add_option("--picture", options->picture_column,
                       "Also draw that column of the printed records: PNG, JPEG, or raw pixels")
          ->type_name("COLUMN");
  command
      ->add_option("--picture-size", options->picture_size,
                   "Size of raw pixels that aren't square: WIDTHxHEIGHT or WIDTHxHEIGHTx3")
      ->type_name("SIZE")
      ->needs(picture);
  CLI::Option* const proto =
      command
          ->add_option("--proto", options->descriptor_set,
                       "The records are protobuf messages of a type in that descriptor set "
                       "(protoc --include_imports --descriptor_set_out=FILE): print their fields")
          ->type_name("FILE")
          ->excludes(picture);
  command
      ->add_option("--message", options->message,
                   "Name of the type, like shop.Click, if the set's last file has several")
      ->type_name("NAME")
      ->needs(proto);
  command->add_option("--json", options->json_file, "Also write what was found there, as JSON")
      ->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->add_flag("--ascii", options->ascii, "No Unicode in the output");
  command->footer(
      "Examples: infeed inspect 'data/train-*.tfrecord' --picture image --show 1\n"
      "          infeed inspect clicks.tfrecord --proto shop.pb --message shop.Click\n"
      "Exit status 0: what was looked at is whole. 1: a part of it is damaged.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { InspectRun(*options, stop).run(); }};
}

}  // namespace infeed::tools
