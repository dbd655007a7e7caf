#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include <infeed/detail/folder_entries.h>
#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/side_file.h"
#include "cli/terminal.h"
#include "convert/inputs/found_dataset.h"
#include "convert/replacement.h"
#include "dataset/verify.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kManifestEnd = ".manifest.json";
constexpr std::string_view kPlanEnd = ".plan.json";

struct VerifyCommandOptions {
  std::vector<std::string> names;
  std::string json_file;
  int threads = 0;
  bool no_color = false;
};

struct Checked {
  std::string name;
  Verification verification;
};

/// Returns the names without the folder, sorted.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names = detail::names_in_folder(folder);
  std::sort(names.begin(), names.end());
  return names;
}

class VerifyRun {
 public:
  VerifyRun(const VerifyCommandOptions& options, const std::stop_token& stop)
      : options_(options), stop_(stop), terminal_(stdout, {.colours = !options.no_color}) {}

  void run() {
    if (!options_.json_file.empty()) check_can_write(options_.json_file);
    std::vector<std::string> patterns;
    for (const std::string& name : options_.names) {
      std::error_code ignored;
      if (fs::is_directory(name, ignored)) {
        check_folder(name);
      } else if (name.ends_with(kManifestEnd)) {
        check_manifest(name);
      } else {
        patterns.push_back(name);
      }
    }
    if (!patterns.empty()) {
      const FoundRecordFiles found = find_record_files(patterns);
      note_unfinished(sets_of_files(found.files));
      Verification verification = verify_records(found.files, verify_options());
      for (const SetProblem& problem : found.set_problems) {
        // A set that isn't finished lacks shards.
        if (unfinished_.contains(sets_of_files({problem.file})[0])) continue;
        verification.problems.push_back({problem.file, problem.text});
      }
      note(counted(found.files.size(), "record file"), std::move(verification));
    }
    if (!options_.json_file.empty()) replace_file(options_.json_file, json_text(describe()));
    const std::size_t problems = count_problems();
    if (problems == 0) return;
    if (problems == unfinished_.size()) {
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("{} {} finished: run the same infeed convert again, and verify then",
                              counted(problems, "conversion"), problems == 1 ? "isn't" : "aren't"));
    }
    if (problems == count_unknown()) {
      throw Error(
          ErrorCode::unavailable,
          fmt::format("{} can't be read now, so nothing is known of {}: verify again when what "
                      "stands above is over",
                      counted(problems, "file"), problems == 1 ? "it" : "them"));
    }
    throw Error(ErrorCode::data_loss,
                fmt::format("{} problem{} found; what is damaged can be copied anew, or its whole "
                            "records saved with infeed repair",
                            problems, problems == 1 ? " was" : "s were"));
  }

 private:
  void check_folder(const std::string& folder) {
    const std::vector<std::string> names = names_in(folder);
    std::set<std::string> begun;  // a conversion may have left several files
    for (const std::string& name : names) {
      for (const std::string_view end : {kPlanEnd, kReplacementEnd}) {
        if (!name.starts_with('.') || !name.ends_with(end)) continue;
        const std::string set = name.substr(1, name.size() - 1 - end.size());
        begun.insert((fs::path(folder) / set).string());
      }
    }
    bool found = note_unfinished({begun.begin(), begun.end()});
    std::set<std::string> sets = begun;
    for (const std::string& name : names) {
      if (!name.ends_with(kManifestEnd) || name.starts_with('.')) continue;
      found = true;
      const std::string file = (fs::path(folder) / name).string();
      sets.insert(file.substr(0, file.size() - kManifestEnd.size()));
      check_manifest(file);
    }
    if (found) {
      note_unlisted(folder, sets);
      return;
    }
    throw Error(
        ErrorCode::not_found,
        fmt::format("there is no manifest in folder '{}'; to check record files by their own "
                    "checksums, name them: '{}/*.tfrecord'",
                    folder, folder));
  }

  /// Notes record files of a folder that are of none of its sets: no manifest says what they were, and
  /// they weren't read.
  void note_unlisted(const std::string& folder, const std::set<std::string>& sets) {
    if (!holds_record_files(folder)) return;
    std::vector<std::string> files = list_record_files(folder);
    std::erase_if(files,
                  [&](const std::string& file) { return sets.contains(sets_of_files({file})[0]); });
    if (files.empty()) return;
    add_note(fmt::format(
        "{} without a manifest in folder '{}' not read, first '{}': name them to "
        "check them by their own checksums",
        counted(files.size(), "record file"), folder, fs::path(files.front()).filename().string()));
  }

  void add_note(const std::string& text) {
    terminal_.line(terminal_.paint(Paint::warning, "  note: " + text));
    notes_.push_back(text);
  }

  /// Notes unfinished conversions; true if there is one. Files without a set ("") belong to no
  /// conversion.
  bool note_unfinished(const std::vector<std::string>& prefixes) {
    bool found = false;
    for (const std::string& prefix : prefixes) {
      if (prefix.empty() || is_url(prefix)) continue;
      const DatasetNames names(prefix);
      if (is_being_moved(names)) {
        found = true;
        unfinished_.insert(prefix);
        note(names.name,
             {.problems = {{names.manifest_file,
                            "the old dataset is gone, and the one that replaces it isn't in its "
                            "place yet: run the same infeed convert --overwrite again"}}});
      } else if (is_unfinished(names)) {
        found = true;
        unfinished_.insert(prefix);
        note(names.name,
             {.problems = {{names.plan_file,
                            fmt::format("the conversion of '{}' isn't finished: run the same "
                                        "infeed convert again, and it goes on",
                                        names.name)}}});
      }
    }
    return found;
  }

  void check_manifest(const std::string& file) {
    const std::string prefix = file.substr(0, file.size() - kManifestEnd.size());
    if (note_unfinished({prefix})) return;
    try {
      note(file, verify_manifest(file, verify_options()));
      if (is_url(file)) return;
      if (const auto replacement = unfinished_replacement(DatasetNames(prefix))) {
        add_note(*replacement);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::data_loss) throw;
      note(file, {.problems = {{file, error.message()}}});
    }
  }

  VerifyOptions verify_options() {
    return {
        .threads = options_.threads,
        .stop = stop_,
        .on_progress = [this](std::size_t done, std::size_t total) {
          const double share = static_cast<double>(done) / static_cast<double>(total);
          terminal_.status(fmt::format("{} {} of {} files", terminal_.bar(share, 30), done, total));
        }};
  }

  void note(const std::string& given, Verification verification) {
    const std::string name = redacted_url(given);
    for (Problem& problem : verification.problems) problem.file = redacted_url(problem.file);
    const bool is_good = verification.problems.empty();
    const double rate =
        static_cast<double>(verification.bytes) / 1e9 / std::max(verification.seconds, 1e-9);
    const std::string verdict =
        is_good ? terminal_.paint(Paint::good, "good")
                : terminal_.paint(Paint::bad, counted(verification.problems.size(), "problem"));
    terminal_.line(fmt::format("{}: {}: {}, {}, {}, {:.2f} s ({:.1f} GB/s)", name, verdict,
                               counted(verification.files, "file"),
                               counted(verification.records, "record"),
                               as_megabytes(verification.bytes), verification.seconds, rate));
    for (const Problem& problem : verification.problems) {
      terminal_.line(fmt::format("  {}: {}", problem.file, problem.text));
    }
    checked_.push_back({name, std::move(verification)});
  }

  std::size_t count_problems() const {
    std::size_t count = 0;
    for (const Checked& checked : checked_) count += checked.verification.problems.size();
    return count;
  }

  /// Problems of files of which nothing is known.
  std::size_t count_unknown() const {
    std::size_t count = 0;
    for (const Checked& checked : checked_) {
      count += static_cast<std::size_t>(std::ranges::count_if(
          checked.verification.problems, [](const Problem& problem) { return !problem.is_known; }));
    }
    return count;
  }

  Json describe() const {
    Json list = Json::array();
    for (const auto& [name, verification] : checked_) {
      Json problems = Json::array();
      for (const Problem& problem : verification.problems) {
        problems.push_back({{"file", problem.file}, {"problem", problem.text}});
      }
      list.push_back({{"name", name},
                      {"files", verification.files},
                      {"records", verification.records},
                      {"bytes", verification.bytes},
                      {"seconds", verification.seconds},
                      {"problems", problems}});
    }
    return {{"checked", list},
            {"problems", count_problems()},
            {"notes", notes_},
            {"infeed_version", INFEED_VERSION}};
  }

  const VerifyCommandOptions& options_;
  const std::stop_token& stop_;
  Terminal terminal_;
  std::vector<Checked> checked_;
  std::multiset<std::string> unfinished_;  ///< sets whose only problem is that
  std::vector<std::string> notes_;         ///< that are no problem of a dataset
};

}  // namespace

Command add_verify_command(CLI::App& app) {
  const auto options = std::make_shared<VerifyCommandOptions>();
  CLI::App* const command =
      app.add_subcommand("verify", "Read every byte of a dataset and compare it with its manifest");
  command
      ->add_option("NAME", options->names,
                   "Folders (all manifests in them), manifests, or record files and patterns for "
                   "them (their own checksums); all but folders by path or URL")
      ->required();
  command->add_option("--threads", options->threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--json", options->json_file, "Also write the findings there, as JSON")
      ->type_name("FILE");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->footer(
      "Example: infeed verify data\n"
      "Exit status 0: every file is as it was written. 1: the problems are listed.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { VerifyRun(*options, stop).run(); }};
}

}  // namespace infeed::tools
