#include "convert/convert_report.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "convert/column_report.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kQuarantinedShownMax = 5;

std::string found_note(std::uint32_t shards) {
  return shards == 0 ? "" : fmt::format(" ({} of them made before)", shards);
}

/// Returns "1 of 16 shards ('train-00003-of-00016.tfrecord' is missing)".
std::string describe_wrong(const std::vector<WrongShard>& wrong, std::size_t shards) {
  constexpr std::size_t kShownMax = 3;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < wrong.size() && i < kShownMax; ++i) shown.push_back(wrong[i].what);
  if (wrong.size() > kShownMax) shown.push_back(fmt::format("{} more", wrong.size() - kShownMax));
  return fmt::format("{} of {} ({})", wrong.size(), counted(shards, "shard"),
                     fmt::join(shown, ", "));
}

std::string share_line(const std::string& set, const ConvertResult& result) {
  const std::string done =
      result.files.empty()
          ? "there is no shard for it"
          : fmt::format(
                "{} in {}{}, {}, {:.2f} s: {}", counted(result.manifest.examples(), "example"),
                counted(result.files.size(), "shard"), found_note(result.shards_found),
                as_megabytes(result.manifest.bytes()), result.seconds, result.files.front());
  return fmt::format("{}: share {}/{}: {}; when all shares are made, run --finish", set,
                     result.share->index, result.share->count, done);
}

void print_quarantined(Terminal& terminal, const std::string& set, const ConvertResult& result) {
  const std::vector<QuarantinedExample>& quarantined = result.manifest.quarantined;
  if (quarantined.empty()) return;
  terminal.line(terminal.paint(
      Paint::warning, fmt::format("{}: left out {}; all {} listed in {}", set,
                                  counted(quarantined.size(), "bad example"),
                                  result.share ? "will be" : "are", result.manifest_file)));
  for (std::size_t i = 0; i < quarantined.size() && i < kQuarantinedShownMax; ++i) {
    terminal.line(fmt::format("  {}: {}", quarantined[i].input, quarantined[i].error));
  }
}

}  // namespace

ProgressLine::ProgressLine(Terminal& terminal, std::string set)
    : terminal_(terminal), set_(std::move(set)), begin_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(const ConvertProgress& progress) {
  if (progress.total == 0 || progress.done == 0) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  const double rate = static_cast<double>(progress.done) / seconds;
  terminal_.status(fmt::format(
      "{}: {} {:3.0f} %  {} examples/s  {} left", set_, terminal_.bar(share, 30), 100 * share,
      with_commas(std::llround(rate)), as_duration(seconds * (1 - share) / share)));
}

std::string as_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void print_result(Terminal& terminal, const std::string& set, const ExampleInput& input,
                  const ConvertResult& result) {
  const Manifest& manifest = result.manifest;
  if (result.was_complete) {
    terminal.line(fmt::format("{}: complete already, {} in {}, {}: {}", set,
                              counted(manifest.examples(), "example"),
                              counted(result.files.size(), "shard"), as_megabytes(manifest.bytes()),
                              result.files.front()));
    print_columns(terminal, input, manifest.statistics);
    print_quarantined(terminal, set, result);
    return;
  }
  if (result.share) {
    terminal.line(share_line(set, result));
    print_quarantined(terminal, set, result);
    return;
  }
  if (!result.rebuilt.empty()) {
    terminal.line(fmt::format("{}: complete but for {}, made anew to the same bytes, {:.2f} s", set,
                              describe_wrong(result.rebuilt, result.files.size()), result.seconds));
    return;
  }
  const std::string examples =
      manifest.examples() == input.size()
          ? input.describe()
          : fmt::format("{} of {}", with_commas(manifest.examples()), input.describe());
  terminal.line(fmt::format("{}: {} in {}{}, {}, {:.2f} s: {}", set, examples,
                            counted(result.files.size(), "shard"), found_note(result.shards_found),
                            as_megabytes(manifest.bytes()), result.seconds, result.files.front()));
  print_columns(terminal, input, manifest.statistics);
  print_quarantined(terminal, set, result);
}

void print_estimate(Terminal& terminal, const std::string& set, const ExampleInput& input,
                    const ConvertEstimate& estimate) {
  if (estimate.is_complete) {
    terminal.line(fmt::format("{}: complete already; nothing would be done", set));
    return;
  }
  if (!estimate.wrong.empty()) {
    terminal.line(fmt::format("{}: complete but for {}, which would be made anew", set,
                              describe_wrong(estimate.wrong, estimate.files.size())));
    return;
  }
  terminal.line(
      fmt::format("{}: would write {} into {}{}, about {} before compression, {} of reading and "
                  "encoding: {}",
                  set, input.describe(), counted(estimate.files.size(), "shard"),
                  found_note(estimate.shards_found), as_megabytes(estimate.bytes),
                  as_duration(estimate.seconds), estimate.files.front()));
  const std::uint64_t looked_at = estimate.statistics.examples() + estimate.bad_examples;
  terminal.line(fmt::format("  columns, by {} looked at:", counted(looked_at, "example")));
  print_columns(terminal, input, estimate.statistics);
  if (estimate.bad_examples == 0) return;
  terminal.line(terminal.paint(
      Paint::warning, fmt::format("  {} of them would be refused, first {}",
                                  with_commas(estimate.bad_examples), estimate.first_bad)));
}

nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertResult& result) {
  const Manifest& manifest = result.manifest;
  nlohmann::json json{{"name", set},
                      {"examples", manifest.examples()},
                      {"bytes", manifest.bytes()},
                      {"shards", result.files.size()},
                      {"shards_found", result.shards_found},
                      {"was_complete", result.was_complete},
                      {"shards_rebuilt", result.rebuilt.size()},
                      {"quarantined", manifest.quarantined.size()},
                      {"manifest", result.manifest_file},
                      {"plan_id", manifest.plan_id},
                      {"columns", describe_columns(input, manifest.statistics)},
                      {"seconds", result.seconds}};
  if (!result.files.empty()) json["first_shard"] = result.files.front();
  if (result.share) {
    json["share"] = fmt::format("{}/{}", result.share->index, result.share->count);
  }
  return json;
}

nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertEstimate& estimate) {
  return {{"name", set},
          {"input_examples", estimate.examples},
          {"bytes", estimate.bytes},
          {"shards", estimate.files.size()},
          {"first_shard", estimate.files.front()},
          {"shards_found", estimate.shards_found},
          {"was_complete", estimate.is_complete},
          {"shards_rebuilt", estimate.wrong.size()},
          {"columns", describe_columns(input, estimate.statistics)},
          {"examples_looked_at", estimate.statistics.examples() + estimate.bad_examples},
          {"bad_examples", estimate.bad_examples},
          {"seconds", estimate.seconds}};
}

}  // namespace infeed::tools
