#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/files.h>
#include <infeed/records/record_index.h>
#include <infeed/records/seekable_file.h>
#include <infeed/records/whole_set.h>

#include "cli/side_file.h"
#include "convert/inputs/found_dataset.h"
#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

/// One record file, read at any place; a compressed one from its decompressed copy.
class RecordFile {
 public:
  explicit RecordFile(const std::string& file)
      : file_(file, compression_of_file(file)), records_(open()) {}

  const std::string& name() const { return file_.name(); }
  std::uint64_t size() const { return records_.size(); }
  Record read(std::uint64_t record) const {
    try {
      return records_.read(record);
    } catch (const Error& error) {
      throw renamed(error);
    }
  }

 private:
  IndexedRecords open() const {
    try {
      return {file_.path(), index_records(file_.path())};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::data_loss) throw renamed(error);
      throw renamed(Error(error), "; save what can be saved with infeed repair");
    }
  }

  /// Returns the error with the file's own name, which the user knows.
  Error renamed(const Error& error, std::string_view advice = {}) const {
    Error result(error.code(), error.message() + std::string(advice));
    result.at_file(file_.name());
    if (error.offset()) result.at_offset(*error.offset());
    if (error.record()) result.at_record(*error.record());
    return result;
  }

  const SeekableFile file_;
  const IndexedRecords records_;
};

class RecordsInput final : public ExampleInput {
 public:
  explicit RecordsInput(const Files& files) {
    begins_.push_back(0);
    for (const std::string& file : files) {
      files_.push_back(examine_input_file(file));
      records_.emplace_back(file);
      begins_.push_back(begins_.back() + records_.back().size());
    }
    for (const SetProblem& problem : find_set_problems(files)) {
      notes_.push_back(fmt::format("the listed shards are read, which aren't a whole set: {}: {}",
                                   redacted_url(problem.file), problem.text));
    }
    // Passes on shapes and classes, which records don't have.
    if (std::optional<Manifest> manifest = find_manifest(files)) {
      shapes_ = std::move(manifest->shapes);
      classes_ = std::move(manifest->classes);
    }
  }

  std::uint64_t size() const override { return begins_.back(); }
  std::unique_ptr<ExampleReader> open_reader() const override;
  std::vector<std::string> columns() const override { return {}; }
  std::string describe() const override {
    return fmt::format("{} of {}", input_count(size(), "record"),
                       input_count(records_.size(), "file"));
  }
  std::string name_of(std::uint64_t index) const override {
    const Place place = place_of(index);
    return fmt::format("{}#{}", input_file_name(records_[place.file].name()), place.record);
  }
  std::vector<InputFile> files() const override { return files_; }
  ColumnShapes shapes() const override { return shapes_; }
  std::vector<std::string> classes() const override { return classes_; }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  friend class RecordFilesReader;
  struct Place {
    std::size_t file;
    std::uint64_t record;
  };
  Place place_of(std::uint64_t index) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
    const auto file = static_cast<std::size_t>(after - begins_.begin() - 1);
    return {file, index - begins_[file]};
  }

  std::vector<InputFile> files_;
  ColumnShapes shapes_;
  std::vector<std::string> classes_;
  std::vector<std::string> notes_;
  std::deque<RecordFile> records_;
  std::vector<std::uint64_t> begins_;
};

class RecordFilesReader final : public ExampleReader {
 public:
  explicit RecordFilesReader(const RecordsInput& input) : input_(input) {}

  void read(std::uint64_t index, std::string& out) override {
    const RecordsInput::Place place = input_.place_of(index);
    out = input_.records_[place.file].read(place.record).bytes();
  }

 private:
  const RecordsInput& input_;
};

std::unique_ptr<ExampleReader> RecordsInput::open_reader() const {
  return std::make_unique<RecordFilesReader>(*this);
}

}  // namespace

std::unique_ptr<ExampleInput> open_records(const Files& files) {
  return std::make_unique<RecordsInput>(files);
}

}  // namespace infeed::tools
