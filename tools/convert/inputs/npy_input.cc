#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/detail/zip_file.h>
#include <infeed/records/limits.h>
#include <infeed/records/npy.h>

#include "convert/inputs/input_count.h"
#include "convert/inputs/npy_features.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

class NpyReader final : public FeatureReader {
 public:
  explicit NpyReader(const std::deque<NpyArray>& columns) : columns_(columns) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    for (const NpyArray& column : columns_) add_npy_row(column, index, bytes_, builder);
  }

  const std::deque<NpyArray>& columns_;
  std::string bytes_;
};

class NpyInput final : public ExampleInput {
 public:
  /// `wanted`: the columns to take; empty: all.
  NpyInput(const Files& files, const std::vector<std::string>& wanted) : wanted_(wanted) {
    for (const std::string& file : files) {
      files_.push_back(examine_input_file(file));
      const auto opened = std::make_shared<SeekableFile>(file);
      std::array<char, 2> magic{};
      const bool is_zip = opened->read_at(0, magic) == 2 && magic[0] == 'P' && magic[1] == 'K';
      if (is_zip || input_file_name(file).ends_with(".npz")) {
        add_members(opened);
      } else {
        add(column_name(file), {opened, 0, opened->size_bytes()});
      }
    }
    if (!columns_.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                wanted_.empty()
                    ? std::string("there are no arrays in it")
                    : fmt::format("there is no array '{}' in it", fmt::join(wanted_, "' or '")))
        .at_file(files.front());
  }

  std::uint64_t size() const override { return rows_of(columns_.front()); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<NpyReader>(columns_);
  }
  std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const NpyArray& column : columns_) names.push_back(column.name());
    return names;
  }
  std::string describe() const override {
    return fmt::format("{} of {}", input_count(size(), "row"), fmt::join(columns(), ", "));
  }
  std::string name_of(std::uint64_t index) const override {
    return fmt::format("{}#{}", columns_.front().name(), index);
  }
  std::vector<InputFile> files() const override { return files_; }
  ColumnShapes shapes() const override {
    ColumnShapes shapes;
    for (const NpyArray& column : columns_) {
      const Shape& shape = column.layout().row_shape;
      shapes[column.name()] = {shape.begin(), shape.end()};
    }
    return shapes;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (const NpyArray& column : columns_) {
      if (const std::string note = npy_note(column); !note.empty()) notes.push_back(note);
    }
    return notes;
  }

 private:
  static std::uint64_t rows_of(const NpyArray& array) {
    return static_cast<std::uint64_t>(array.layout().rows);
  }

  static std::string column_name(const std::string& file) {
    std::string name = std::filesystem::path(input_file_name(file)).stem().string();
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());  // name.npy.gz
    return name;
  }

  void add_members(const std::shared_ptr<const SeekableFile>& zip) {
    const detail::ZipFile members(zip);
    for (const detail::ZipFile::Member& member : members.members()) {
      if (!member.name.ends_with(kEnding)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("its member '{}' is no array (.npy); write the file with "
                                "numpy.savez",
                                member.name))
            .at_file(zip->name());
      }
      const std::string name = member.name.substr(0, member.name.size() - kEnding.size());
      if (!is_wanted(name)) continue;
      require_few(columns_.size() + 1, zip->name());  // each has a decompressed copy, a file
      add(name, members.open(member));
    }
  }

  static void require_few(std::size_t columns, const std::string& file) {
    if (columns <= infeed::limits::npz_arrays) return;
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("there are more than {} arrays, which is the limit; choose those that "
                            "are needed with --columns",
                            infeed::limits::npz_arrays))
        .at_file(file);
  }

  bool is_wanted(const std::string& name) const {
    return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }

  void add(const std::string& name, detail::FilePart array) {
    for (const NpyArray& column : columns_) {
      if (column.name() != name) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a column '{}' comes from '{}', too; give one another name", name,
                              column.file()))
          .at_file(array.file->name());
    }
    columns_.emplace_back(name, std::move(array));
    const NpyArray& first = columns_.front();
    const NpyArray& last = columns_.back();
    require_rows_that_fit(last);
    if (rows_of(last) == rows_of(first)) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("array '{}' has {} rows, but '{}' has {}; columns of one dataset have "
                            "as many rows: choose those that belong together with --columns",
                            name, rows_of(last), first.name(), rows_of(first)))
        .at_file(last.file());
  }

  static constexpr std::string_view kEnding = ".npy";
  const std::vector<std::string> wanted_;
  std::vector<InputFile> files_;
  std::deque<NpyArray> columns_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_npy(const Files& files, const InputOptions& options) {
  return std::make_unique<NpyInput>(files, options.columns);
}

}  // namespace infeed::tools
