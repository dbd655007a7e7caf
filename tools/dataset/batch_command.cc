#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/infeed.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/option_checks.h"
#include "cli/printable.h"
#include "cli/terminal.h"
#include "dataset/row_values.h"
#include "profile/described_pipeline.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kCellColumnsMax = 28;
constexpr int kCellColumnsMin = 4;

struct BatchOptions {
  std::string pipeline_file;
  std::uint64_t step = 0;
  std::uint64_t count = 1;
  std::int64_t rows_shown = 10;
  bool traces = false;
  std::string resume_file;
  std::optional<std::uint64_t> epoch;
  std::string json_file;
  bool no_color = false;
};

/// A batch of the run, and where its rows came from.
struct FoundBatch {
  std::uint64_t step = 0;
  ColumnBatch batch;
  std::vector<TracedPlace> places;  ///< one for each row, or one for all
  std::uint64_t errors = 0;         ///< elements that failed on the way to it

  const TracedPlace& place_of(std::int64_t row) const {
    return places.at(std::min(static_cast<std::size_t>(row), places.size() - 1));
  }
  bool has_place() const {
    return std::ranges::any_of(places, [](const TracedPlace& each) { return bool{each.place}; });
  }
};

std::string place_text(const TracedPlace& traced) {
  if (!traced.place) return printable(traced.why(), 200);
  const RecordPlace& place = *traced.place;
  std::string text = redacted_url(place.file);
  text += place.count == 1
              ? fmt::format(" record {}", place.record)
              : fmt::format(" records {} to {}", place.record, place.record + place.count - 1);
  return place.offset ? text + fmt::format(" at byte {}", *place.offset) : text;
}

OrderedJson place_json(const TracedPlace& traced) {
  if (!traced.place) return {{"why_not", traced.why()}};
  const RecordPlace& place = *traced.place;
  OrderedJson json = {
      {"file", redacted_url(place.file)}, {"record", place.record}, {"count", place.count}};
  json["offset"] = place.offset ? OrderedJson(*place.offset) : OrderedJson();
  return json;
}

OrderedJson batch_json(const FoundBatch& found) {
  OrderedJson columns = OrderedJson::array();
  for (const std::string& name : found.batch.names()) {
    const Column& column = found.batch.column(name);
    const Shape shape = column.row_shape();
    columns.push_back({{"name", name},
                       {"kind", to_string(column.kind())},
                       {"dtype", to_string(column.dtype())},
                       {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}});
  }
  OrderedJson rows = OrderedJson::array();
  for (std::int64_t row = 0; row < found.batch.rows(); ++row) {
    OrderedJson values = OrderedJson::object();
    for (const std::string& name : found.batch.names()) {
      values[name] = row_json(found.batch.column(name), row);
    }
    rows.push_back({{"values", std::move(values)}, {"from", place_json(found.place_of(row))}});
  }
  return {{"step", found.step}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

/// One batch as a table: a line a row, a cell a column, and behind them the row's place.
class BatchTable {
 public:
  BatchTable(const FoundBatch& found, const BatchOptions& options, const Terminal& terminal)
      : found_(found),
        terminal_(terminal),
        traces_(options.traces),
        rows_(std::min(found.batch.rows(), options.rows_shown)) {
    add_column("row", [](std::int64_t row) { return fmt::format("{}", row); });
    const std::vector<std::string>& names = found.batch.names();
    for (; shown_ < names.size(); ++shown_) {
      const Column& column = found.batch.column(names[shown_]);
      const bool fits =
          add_column(printable(names[shown_], kCellColumnsMax),
                     [&](std::int64_t row) { return row_text(column, row, kCellColumnsMax); });
      if (!fits) break;
    }
  }

  void print(Terminal& terminal) const {
    const ColumnBatch& batch = found_.batch;
    terminal.line(terminal.paint(
        Paint::bold, fmt::format("Step {}: {}, {}", with_commas(found_.step),
                                 counted(static_cast<std::uint64_t>(batch.rows()), "row"),
                                 counted(batch.names().size(), "column"))));
    for (const std::string& name : batch.names()) {
      terminal.line(fmt::format("  {:<28} {}", printable(name, kCellColumnsMax),
                                column_kind_text(batch.column(name))));
    }
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      const bool is_head = line == 0;
      std::string text = is_head ? terminal.paint(Paint::bold, lines_[line]) : lines_[line];
      if (traces_) {
        text += "  " + (is_head ? terminal.paint(Paint::bold, "from")
                                : place_text(found_.place_of(static_cast<std::int64_t>(line) - 1)));
      }
      terminal.line(text);
    }
    print_rest(terminal);
  }

 private:
  /// Returns false, and adds nothing, if the column doesn't fit on the terminal.
  template <class CellOf>
  bool add_column(const std::string& name, const CellOf& cell_of) {
    std::vector<std::string> cells{name};
    std::size_t width = std::max(name.size(), std::size_t{kCellColumnsMin});
    for (std::int64_t row = 0; row < rows_; ++row) {
      cells.push_back(cell_of(row));
      width = std::max(width, cells.back().size());
    }
    if (lines_.empty()) lines_.resize(cells.size());
    const bool is_first = lines_.front().size() <= 2 + std::size_t{kCellColumnsMin};
    if (!is_first && lines_.front().size() + 2 + width > columns_max()) return false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      lines_[i] += fmt::format("  {:<{}}", cells[i], width);
    }
    return true;
  }
  std::size_t columns_max() const { return static_cast<std::size_t>(terminal_.columns()); }

  void print_rest(Terminal& terminal) const {
    const std::size_t columns = found_.batch.names().size() - shown_;
    const std::int64_t rows = found_.batch.rows() - rows_;
    if (columns > 0) terminal.line(fmt::format("  ... {} more", counted(columns, "column")));
    if (rows > 0) {
      terminal.line(fmt::format("  ... {} more", counted(static_cast<std::uint64_t>(rows), "row")));
    }
  }

  const FoundBatch& found_;
  const Terminal& terminal_;
  const bool traces_;
  const std::int64_t rows_;         ///< rows that are shown
  std::size_t shown_ = 0;           ///< columns that are shown
  std::vector<std::string> lines_;  ///< the names, then a line a row
};

IterateOptions iterate_options(const BatchOptions& options, const std::stop_token& stop,
                               Terminal& terminal) {
  IterateOptions iterate{.epoch = options.epoch, .stop = stop};
  iterate.on_resume = [&terminal](const ResumeProgress& progress) {
    terminal.status(fmt::format("passing over what comes before: {} elements so far",
                                with_commas(progress.elements_replayed)));
  };
  if (options.resume_file.empty()) return iterate;
  try {
    iterate.resume = Checkpoint::from_text(read_stream(options.resume_file, stop));
  } catch (Error& error) {
    if (!error.file().empty()) throw;
    throw error.at_file(options.resume_file);
  }
  return iterate;
}

/// Calls use(found) for each of the steps.
template <class Use>
void find_batches(const BatchOptions& options, const std::stop_token& stop, Terminal& terminal,
                  const Use& use) {
  const auto pipeline =
      DescribedPipeline::parse(read_stream(options.pipeline_file, stop), options.pipeline_file);
  const Dataset<ColumnBatch>& dataset = pipeline.dataset();
  IterateOptions iterate = iterate_options(options, stop, terminal);
  const bool is_resumed = iterate.resume.has_value();
  const std::uint64_t errors_of_run = is_resumed ? iterate.resume->errors_taken : 0;
  auto iterator =
      dataset.iterate(detail::begin_at(*dataset.node(), options.step, std::move(iterate)));
  for (std::uint64_t step = options.step; step - options.step < options.count; ++step) {
    std::optional<ColumnBatch> batch = iterator.next();
    const Checkpoint behind = iterator.checkpoint();
    if (!batch) {
      throw Error(ErrorCode::not_found,
                  fmt::format("there is no step {}: the pipeline ends after "
                              "{}, which are numbered from 0",
                              with_commas(step), counted(behind.position, "step")));
    }
    detail::check_found(*dataset.node(), behind, true, is_resumed);
    use(FoundBatch{step, *std::move(batch), rows_of(iterator, step),
                   behind.errors_taken - std::min(behind.errors_taken, errors_of_run)});
  }
}

void run_batch(const BatchOptions& options, const std::stop_token& stop) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  Terminal terminal(stdout, {.colours = !options.no_color});
  OrderedJson steps = OrderedJson::array();
  std::string untraced;
  std::uint64_t errors = 0;
  find_batches(options, stop, terminal, [&](const FoundBatch& found) {
    BatchTable(found, options, terminal).print(terminal);
    if (!options.json_file.empty()) steps.push_back(batch_json(found));
    if (!found.has_place() && untraced.empty()) untraced = found.place_of(0).why();
    errors = found.errors;
  });
  if (errors != 0) {
    Terminal(stderr).line(fmt::format(
        "infeed batch: {} failed and {} passed over: this is what a run shows that goes on behind "
        "the same errors; infeed verify names damaged records",
        counted(errors, "element"), errors == 1 ? "was" : "were"));
  }
  if (!options.json_file.empty()) {
    const OrderedJson json = {{"schema", "infeed.batch"},
                              {"schema_version", 1},
                              {"infeed_version", INFEED_VERSION},
                              {"errors", errors},
                              {"steps", std::move(steps)}};
    replace_file(options.json_file, json_text(json, stop));
  }
  if (options.traces && !untraced.empty()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the rows can't be traced to records: {}", untraced));
  }
}

}  // namespace

Command add_batch_command(CLI::App& app) {
  const auto options = std::make_shared<BatchOptions>();
  CLI::App* const command = app.add_subcommand(
      "batch", "Show the batch of any step of a run, and the records that its rows come from");
  command
      ->add_option("--pipeline", options->pipeline_file,
                   "The run's pipeline in JSON, as infeed profile takes it")
      ->required()
      ->type_name("FILE");
  command->add_option("--step", options->step, "The batch's number in the run, from 0")->required();
  command->add_option("--count", options->count, "Show so many batches from that step on")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--trace", options->traces,
                    "Say which record each row comes from: file, number, first byte");
  command
      ->add_option("--resume", options->resume_file,
                   "A checkpoint of the run. It has the seeds that the run drew, and the steps "
                   "before it needn't be read")
      ->type_name("FILE");
  command->add_option(
      "--epoch", options->epoch,
      "Number of the iteration, from 0, if the run iterates the dataset several times; "
      "by default the checkpoint's, or 0");
  command->add_option("--rows", options->rows_shown, "Print so many rows of a batch")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--json", options->json_file,
                   "Write all rows to FILE, with their values and places; of a row of more than "
                   "10,000 values the first ones")
      ->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "Print no colours");
  command->footer(
      "Example: infeed batch --pipeline pipeline.json --step 8412 --resume last.checkpoint "
      "--trace\n"
      "         infeed inspect train-00002-of-00004.tfrecord --first 312 --show 1\n"
      "A seed that the pipeline doesn't give is drawn, and then only a checkpoint knows it.\n");
  return {.options = command,
          .run = [options](std::stop_token stop) { run_batch(*options, stop); }};
}

}  // namespace infeed::tools
