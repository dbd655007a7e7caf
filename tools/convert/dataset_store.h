#pragma once

#include <optional>
#include <string>
#include <vector>

#include <infeed/records/file_sum.h>
#include <infeed/records/url_upload.h>

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/manifest.h"

/// Why: a dataset for many machines lies in an object store, which has no locks, no renames and no
/// lines added to a file. So plan, journals and locks stay in a folder, in which each shard is made and
/// checked as ever; a finished shard is uploaded and removed there before the journal commits it. The
/// manifest comes last, and only if there is none.
///
/// A part puts its journal beside the shards when it is done. So the machine that finishes needs
/// nothing of the others' folders.
namespace infeed::tools {

/// Thread-safety: const access from any thread.
class DatasetStore {
 public:
  explicit DatasetStore(const ConvertOptions& options);

  /// False: the files stay where they are made, and nothing below has work to do.
  bool is_remote() const { return !url_.empty(); }
  /// Returns where readers find a file of the dataset.
  std::string place_of(const std::string& file) const;
  std::vector<std::string> places_of(const std::vector<std::string>& files) const;

  /// Takes a finished file out of the folder.
  void take(const std::string& file) const;
  /// Compares a file that was taken, or stayed, with its sum.
  std::optional<FileDifference> compare(const std::string& file, const FileSum& sum,
                                        FileCheck check) const;

  /// Returns the manifest in the store, so that a dataset is made once. Nothing if there is none.
  std::optional<Manifest> find_manifest(const DatasetNames& names) const;
  /// Throws already_exists if somebody else's is there.
  void put_manifest(const DatasetNames& names, const std::string& text) const;

  /// Journals of parts; they go through the store only if it is S3, which can list them.
  void put_journal(const std::string& file) const;
  void fetch_journal(const std::string& file) const;
  void fetch_journals(const DatasetNames& names, const ConversionPlan& plan) const;
  void remove_journals(const DatasetNames& names) const;

 private:
  bool has_journals() const;
  std::vector<std::string> list_journals(const DatasetNames& names) const;

  std::string url_;  // without a slash at the end
  UploadOptions upload_;
};

}  // namespace infeed::tools
