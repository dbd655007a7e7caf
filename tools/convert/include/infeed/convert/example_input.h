#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/example.h>

/// Why: `infeed convert` takes many kinds of data, and what is behind it (order, shards, threads,
/// resuming) doesn't want to know which. An input is a numbered list of examples, in which each
/// thread has a place of its own.
///
/// To read a format of your own: derive from ExampleInput and FeatureReader, and hand it to
/// run_command() (command.h); tools/examples/own_input.cc is a whole program.
namespace infeed {

/// What the records don't show of a column's values, so that a conversion can tell its user.
struct ColumnCounts {
  std::string name;
  std::uint64_t empty = 0;         ///< cells without text, nulls: such an example has no feature
  std::uint64_t booleans = 0;      ///< written as 1 and 0
  std::uint64_t rounded = 0;       ///< numbers of more digits than float32 keeps
  std::string first_rounded = {};  ///< one of them, and where it stands
};

/// A column whose kind the input chose.
struct ColumnKind {
  std::string name;
  FeatureKind kind = FeatureKind::bytes;
  std::string note = {};    ///< who chose it, and why when that isn't obvious
  bool is_warning = false;  ///< the note is of something that a user would want to look at
};

/// One thread's place in an input, which must outlive it.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;
  /// Replaces `out` by the record of example `index`, encoded. Quickest in ascending order. Throws
  /// infeed::Error that names the file; data_loss and invalid_argument mean that this example is
  /// bad and others may be good.
  virtual void read(std::uint64_t index, std::string& out) = 0;
  /// Of the examples that were read since the last call, without those that threw.
  virtual std::vector<ColumnCounts> take_counts() { return {}; }
};

/// A reader that says which features an example has.
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

/// What a plan remembers of a file, so that no conversion goes on with other data.
struct InputFile {
  std::string path;  ///< absolute, or a URL without its secrets
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string version = {};  ///< of what lies behind a URL: its ETag or date
};

/// By path or URL. Throws not_found, permission_denied and what else reading a URL may.
InputFile examine_input_file(const std::string& file);

/// The last part of a path or URL, for name_of().
std::string input_file_name(const std::string& file);

/// By the columns' names: {"image", {3, 32, 32}}.
using ColumnShapes = std::map<std::string, std::vector<std::uint64_t>>;

/// Thread-safety: as const, any number of threads at once.
class ExampleInput {
 public:
  virtual ~ExampleInput() = default;
  virtual std::uint64_t size() const = 0;
  virtual std::unique_ptr<ExampleReader> open_reader() const = 0;
  /// Names of all features that examples may have; nothing when only the examples know.
  virtual std::vector<std::string> columns() const = 0;
  /// "60000 images of 28x28"
  virtual std::string describe() const = 0;
  /// Names one example for people, and for the split: the same wherever the input's folder lies,
  /// and whatever is added to the input behind it. "train-images.gz#17", "cat/7.png"
  virtual std::string name_of(std::uint64_t index) const = 0;
  /// Where one example stands, for messages: "table.csv line 19 (row 18)".
  virtual std::string location_of(std::uint64_t index) const { return name_of(index); }
  /// Of inputs that choose the kinds of their columns; each at most once.
  virtual std::vector<ColumnKind> kinds() const { return {}; }
  /// In an order that doesn't change.
  virtual std::vector<InputFile> files() const = 0;
  /// What the examples depend on besides the files: kinds of columns, names. The plan keeps it.
  virtual std::string settings() const { return {}; }
  /// Of columns whose values have the same shape in every example; an empty shape says nothing. The
  /// manifest keeps it, since an Example knows flat lists only.
  virtual ColumnShapes shapes() const { return {}; }
  /// What the labels 0, 1... stand for; the manifest keeps it.
  virtual std::vector<std::string> classes() const { return {}; }
  /// What a user should know, a line each: what was left out, what is changed on its way.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace infeed
