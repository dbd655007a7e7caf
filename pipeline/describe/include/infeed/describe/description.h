#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/describe/elements.h>
#include <infeed/describe/stage_table.h>

/// Why: Python, a profile and a worker on another host describe a pipeline when the program runs.
/// A description is the list of stages with their options, and the dataset made of them.
///
///     const auto table = std::make_shared<const infeed::describe::StageTable>(
///         infeed::describe::native_stages());
///     const auto pipeline = infeed::describe::Description::from_json(R"({"stages": [
///         {"stage": "records", "files": "train-*.tfrecord"},
///         {"stage": "shuffle", "buffer": 10000, "seed": 42},
///         {"stage": "parse", "columns": [{"name": "label", "dtype": "int64"}]},
///         {"stage": "batch", "size": 128}]})", table);
///     auto iterator = pipeline.elements().batches("training").iterate();
///
/// Two descriptions are equal if their stages and options are. Options that have their default
/// value are left out of the JSON, so a description has one text.
///
/// Errors: invalid_argument that names the place, "$.stages[1].buffer"; those of the stages'
/// factories, with the place in front. Ownership: a value, cheap to copy. Thread-safety: any
/// thread may read it.
namespace infeed::describe {

class Description {
 public:
  /// Makes a description without stages, for then().
  explicit Description(std::shared_ptr<const StageTable> table);
  static Description from_json(std::string_view text, std::shared_ptr<const StageTable> table,
                               const Objects& objects = {});

  /// Returns the description with one more stage. `options` is an object in JSON.
  Description then(const std::string& stage, std::string_view options = "{}",
                   const std::vector<Description>& inputs = {}, const Objects& objects = {}) const;

  bool is_empty() const { return stages_ == nullptr; }
  /// Throws failed_precondition if there are no stages.
  const Elements& elements() const;
  /// Returns the JSON form. Throws failed_precondition if a stage has an object, unless they are
  /// kept elsewhere (`with_objects`).
  std::string to_json(bool with_objects = false) const;
  /// Returns one line: `records("x-*") | shuffle(buffer=10000, seed=42) | batch(size=128)`.
  std::string text() const;
  /// Returns the hash of all that decides on values and order: of the signatures that a checkpoint
  /// is bound to. It is the same for the dataset described in C++. Reads the sources' files
  /// (checkpoint.h).
  std::uint64_t fingerprint() const;
  const Objects& objects() const { return objects_; }
  /// Returns the ledger that its columns "bad_row" count in (bad_rows.h), or null if no stage keeps
  /// the rows of bad records.
  std::shared_ptr<const BadRowLedger> bad_rows() const;

  bool operator==(const Description& other) const;

 private:
  class Stages;  // the JSON of the stages
  class Reader;

  std::shared_ptr<const StageTable> table_;
  std::shared_ptr<const Stages> stages_;  ///< null if there are none
  std::shared_ptr<const Elements> elements_;
  Objects objects_;
};

/// Returns the fingerprint of any dataset, as Description::fingerprint() does.
std::uint64_t fingerprint_of(const Node& node);

}  // namespace infeed::describe
