#pragma once

#include <functional>
#include <optional>

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/dataset_store.h"
#include "convert/inputs/found_dataset.h"

/// Checks of what one process and each of several do before they write anything, and before they say that all is done.
namespace infeed::tools {

/// Throws invalid_argument for options that exclude each other, and names that can't be a dataset's.
void require_sound(const ConvertOptions& options);

/// Makes the plan. If no number of shards is given, takes that of a begun conversion.
ConversionPlan choose_plan(const ExampleInput& input, const ConvertOptions& options,
                           const DatasetNames& names);

/// Throws already_exists if the existing files may not be touched.
void require_permission(const FoundDataset& found, const ConvertOptions& options);

/// Throws invalid_argument if overwriting would remove an input file.
void require_other_files(const FoundDataset& found, const ExampleInput& input,
                         const ConvertOptions& options);

/// Calls make(), which makes shards. Throws failed_precondition if a file of the input on this machine
/// has another size or time by then than when it was opened. One that is gone was read to its end all
/// the same. Where a file has changed, also behind an error of make(), calls forget() before it throws:
/// the shards may hold a mixture, which a later call that finds the file restored would take for good.
/// A call that was stopped doesn't look, since to ask a server takes time.
void make_of_unchanged(const ExampleInput& input, const ConvertOptions& options,
                       const std::function<void()>& make, const std::function<void()>& forget);

/// Throws failed_precondition if more examples were left out of the dataset than may be: by all parts together, or by
/// an earlier call that allowed more.
void require_few_bad(const Manifest& manifest, const ConvertOptions& options);

/// Returns the manifest in the store; nothing if there is none. Throws already_exists if it is of
/// another plan.
std::optional<Manifest> find_stored_manifest(const DatasetStore& store, const DatasetNames& names,
                                             const ConversionPlan& plan);

/// Syncs the side files of these shards: the manifest promises that all files are on the disk.
void sync_side_files(const DatasetNames& names, const std::vector<ShardEntry>& shards);

}  // namespace infeed::tools
