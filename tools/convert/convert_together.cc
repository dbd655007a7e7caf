#include "convert/convert_together.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>

#include "convert/conversion_checks.h"
#include "convert/convert_chief.h"
#include "convert/convert_worker.h"
#include "convert/inputs/found_dataset.h"
#include "convert/replacement.h"
#include "convert/shard_maker.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Removes what a killed process left of shards in a folder of its own.
void remove_own_files(const DatasetNames& names) {
  std::error_code ignored;
  for (const std::string& file : list_dataset_files(names)) std::filesystem::remove(file, ignored);
  std::filesystem::remove_all(names.aside_folder, ignored);
}

/// Removes what a rank has made again behind rank 0's cleaning: it was slow, and others were quicker.
void remove_own_aside_folder(const DatasetNames& names, int rank) {
  std::error_code ignored;
  std::filesystem::remove_all(aside_folder_of(names, rank), ignored);
  std::filesystem::remove(names.aside_folder, ignored);
}

}  // namespace

ConvertRanks::ConvertRanks(Communicator& ranks, ConvertRanksOptions options)
    : ranks_(ranks), options_(std::move(options)) {}

ConvertResult ConvertRanks::convert(const ExampleInput& input, const ConvertOptions& options) {
  const auto begin = Clock::now();
  require_sound(options);
  const auto replacement = Replacement::find(input, options);
  const ConvertOptions& own_options = replacement ? replacement->options() : options;
  const DatasetNames names(own_options.prefix);
  const ConversionPlan plan = choose_plan(input, own_options, names);
  // Each rank looks for what is there by itself, and a file system may tell one of them late.
  const std::string plan_text = plan.text + (replacement ? " beside what is there" : "");
  if (all_are_there_) require_equal(ranks_, "plan of the conversion", plan_text);
  make_folder(names.folder);
  const RankCall call{ranks_, options_, ++set_, crc32c(plan_text)};
  ConvertResult result;
  if (ranks_.world().rank == kRootRank) {
    const auto convert = [&](const ConvertOptions& own, const RunWorkers& run_workers) {
      return convert_whole(input, own, names, plan, run_workers);
    };
    const auto lead = [&] {
      return lead_conversion(call, own_options, convert, lost_, all_are_there_);
    };
    result = replacement ? replacement->make(lead) : lead();
    all_are_there_ = lost_.empty();
  } else {
    const std::uint64_t flags = work_for_chief(call, input, own_options, plan);
    all_are_there_ = (flags & kSomeAreLost) == 0;
    result.was_complete = (flags & kWasComplete) != 0;
    if (options.store_url.empty()) {
      remove_own_aside_folder(names, ranks_.world().rank);
    } else {
      remove_own_files(names);
    }
    // A rank that came late has made it again.
    if (std::error_code ignored; replacement) std::filesystem::remove(names.folder, ignored);
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

}  // namespace infeed::tools
