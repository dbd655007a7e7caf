#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/example.h>

/// Why: `infeed convert` takes many kinds of data; order, shards, threads and resuming are the same
/// for all. An input is a numbered list of examples, in which each thread has its own place.
///
/// To read a format of your own: derive from ExampleInput and FeatureReader, and hand it to
/// run_command() (command.h); tools/examples/own_input.cc is a whole program.
namespace infeed {

/// Facts about a column's values that the records don't show, for the report to the user.
struct ColumnCounts {
  std::string name;
  std::uint64_t empty = 0;         ///< cells without text, nulls: their examples lack the feature
  std::uint64_t booleans = 0;      ///< values written as 1 and 0
  std::uint64_t rounded = 0;       ///< numbers with more digits than float32 keeps
  std::string first_rounded = {};  ///< one of them, and its place
};

/// A column whose kind the input chose.
struct ColumnKind {
  std::string name;
  FeatureKind kind = FeatureKind::bytes;
  std::string note = {};    ///< the source of the choice, and the reason if it isn't obvious
  bool is_warning = false;  ///< true: the user should look at the note
};

/// One thread's place in an input, which must outlive it.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;
  /// Replaces `out` by the record of example `index`, encoded. Quickest in ascending order. Throws
  /// infeed::Error that names the file; after data_loss and invalid_argument, which mean that this
  /// example is bad, others may still be read.
  virtual void read(std::uint64_t index, std::string& out) = 0;
  /// Returns the counts of the examples read since the last call, without those that threw.
  virtual std::vector<ColumnCounts> take_counts() { return {}; }
};

/// A reader that lists the features of an example.
class FeatureReader : public ExampleReader {
 public:
  void read(std::uint64_t index, std::string& out) final {
    builder_.clear();
    add_features(index, builder_);
    builder_.encode_to(out);
  }

 private:
  /// `builder` is empty.
  virtual void add_features(std::uint64_t index, ExampleBuilder& builder) = 0;
  ExampleBuilder builder_;
};

/// A file as the plan remembers it, so that no conversion goes on with other data.
struct InputFile {
  std::string path;  ///< absolute, or a URL without its secrets
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string version = {};  ///< ETag or date of the content behind a URL
};

/// Examines a path or URL. Throws not_found, permission_denied and the errors of reading a URL.
InputFile examine_input_file(const std::string& file);

/// Returns the last part of a path or URL, for name_of().
std::string input_file_name(const std::string& file);

/// Shapes under the columns' names: {"image", {3, 32, 32}}.
using ColumnShapes = std::map<std::string, std::vector<std::uint64_t>>;

/// Thread-safety: const access from any number of threads at once.
class ExampleInput {
 public:
  virtual ~ExampleInput() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::unique_ptr<ExampleReader> open_reader() const = 0;
  /// Names of all features that examples may have; empty if only the examples know.
  virtual std::vector<std::string> columns() const = 0;
  /// "60000 images of 28x28"
  virtual std::string describe() const = 0;
  /// Names one example for people, and for the split. The name doesn't depend on the input's folder
  /// or on data that is added behind it. "train-images.gz#17", "cat/7.png"
  virtual std::string name_of(std::uint64_t index) const = 0;
  /// The place of one example, for messages: "table.csv line 19 (row 18)".
  virtual std::string location_of(std::uint64_t index) const { return name_of(index); }
  /// Kinds of columns that the input chose; each column at most once.
  virtual std::vector<ColumnKind> kinds() const { return {}; }
  /// The files, in an order that doesn't change.
  virtual std::vector<InputFile> files() const = 0;
  /// Settings that the examples depend on, besides the files: kinds of columns, names. The plan
  /// keeps them.
  virtual std::string settings() const { return {}; }
  /// Shapes of columns that have the same shape in every example; an empty shape says nothing. The
  /// manifest keeps them, since an Example holds flat lists only.
  virtual ColumnShapes shapes() const { return {}; }
  /// Meanings of the labels 0, 1...; the manifest keeps them.
  virtual std::vector<std::string> classes() const { return {}; }
  /// Facts that a user should know, a line each: data that was left out or is changed on its way.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace infeed
