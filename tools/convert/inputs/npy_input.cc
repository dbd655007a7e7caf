#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>

#include "convert/inputs/open_input.h"
#include "convert/inputs/zip_members.h"

/// NumPy's format, versions 1 to 3 (numpy/lib/format.py): the magic, two bytes of version, the size
/// of the header as u16 or u32, the header as a Python dict {'descr', 'fortran_order', 'shape'},
/// then the elements.
namespace infeed::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderBytesMax = 1 << 20;
constexpr std::uint64_t kRowBytesMax = std::uint64_t{1} << 31;

/// What stands behind `'name':` in the header.
std::string_view value_of(std::string_view header, std::string_view name) {
  const std::size_t key = header.find(fmt::format("'{}'", name));
  const std::size_t colon = key == std::string_view::npos ? key : header.find(':', key);
  if (colon == std::string_view::npos) return {};
  const std::size_t begin = header.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
}

/// One array: a file of its own, or a member of an NPZ file.
class NpyColumn {
 public:
  NpyColumn(std::string name, FilePart array) : array_(std::move(array)), name_(std::move(name)) {
    read_header();
    check_size();
  }

  const std::string& name() const { return name_; }
  const std::string& file() const { return array_.file->name(); }
  std::uint64_t rows() const { return rows_; }

  void add_row(std::uint64_t row, std::string& bytes, ExampleBuilder& builder) const {
    bytes.resize(row_values_ * value_bytes_);
    array_.file->read_exactly(array_.begin + data_begin_ + row * bytes.size(), bytes);
    switch (kind_) {
      case 'S':
        add_texts(bytes, builder);
        break;
      case 'f':
        value_bytes_ == 4 ? add_floats<float>(bytes, builder) : add_floats<double>(bytes, builder);
        break;
      default:
        add_integers(bytes, builder);
    }
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const {
    throw Error(code, fmt::format("array '{}': {}", name_, message)).at_file(file());
  }

  void read_header() {
    std::array<char, 12> begin{};
    const std::size_t got = array_.file->read_at(
        array_.begin, std::span(begin).first(std::min<std::size_t>(begin.size(), array_.bytes)));
    if (got < 10 || !std::string_view(begin.data(), got).starts_with(kMagic)) {
      fail(ErrorCode::data_loss, "this is no NPY file: it doesn't begin with \\x93NUMPY");
    }
    const bool is_long = begin[6] > 1;
    std::uint32_t header_bytes = 0;
    std::memcpy(&header_bytes, begin.data() + 8, is_long ? 4 : 2);
    data_begin_ = (is_long ? 12U : 10U) + std::uint64_t{header_bytes};
    if (header_bytes > kHeaderBytesMax || data_begin_ > array_.bytes) {
      fail(ErrorCode::data_loss, fmt::format("its header has {} bytes, more than there are or than "
                                             "make sense",
                                             header_bytes));
    }
    std::string header(header_bytes, '\0');
    array_.file->read_exactly(array_.begin + data_begin_ - header_bytes, header);
    parse_type(value_of(header, "descr"));
    parse_shape(value_of(header, "shape"));
    if (value_of(header, "fortran_order").starts_with("True") && row_values_ > 1 && rows_ > 1) {
      fail(
          ErrorCode::invalid_argument,
          "its elements lie column by column (fortran_order); save numpy.ascontiguousarray(array)");
    }
  }

  void parse_type(std::string_view text) {
    const std::size_t end = text.size() < 2 ? std::string_view::npos : text.find('\'', 1);
    const std::string_view type = end == std::string_view::npos ? "" : text.substr(1, end - 1);
    constexpr std::array<std::string_view, 11> kKnown{"b1", "u1", "u2", "u4", "u8", "i1",
                                                      "i2", "i4", "i8", "f4", "f8"};
    const std::string_view name = type.size() < 3 ? "" : type.substr(1);
    std::size_t size = 0;
    const char* const digits = name.empty() ? nullptr : name.data() + 1;
    const bool has_size =
        !name.empty() &&
        std::from_chars(digits, name.data() + name.size(), size).ptr == name.data() + name.size();
    const bool is_known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end() ||
                          (name.starts_with('S') && size > 0);
    const bool is_big_endian = type.starts_with('>') && size > 1 && !name.starts_with('S');
    if (!has_size || !is_known || is_big_endian) {
      fail(ErrorCode::invalid_argument,
           fmt::format("elements of type {} can't be converted; save array.astype(...) of one of "
                       "{} (little-endian) or S",
                       text.substr(0, 20), fmt::join(kKnown, ", ")));
    }
    kind_ = name.front();
    value_bytes_ = size;
  }

  void parse_shape(std::string_view text) {
    std::vector<std::uint64_t> shape;
    const std::string_view inside =
        text.starts_with('(') ? text.substr(1, text.find(')') - 1) : std::string_view();
    for (std::size_t at = 0; at < inside.size();) {
      std::uint64_t size = 0;
      const auto [end, error] =
          std::from_chars(inside.data() + at, inside.data() + inside.size(), size);
      if (error == std::errc()) {
        shape.push_back(size);
        at = static_cast<std::size_t>(end - inside.data());
      } else {
        ++at;
      }
    }
    if (shape.empty()) {
      fail(ErrorCode::invalid_argument,
           "it is a single value; the first dimension must number the examples");
    }
    rows_ = shape[0];
    rank_ = shape.size();
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (shape[i] != 0 && row_values_ > kRowBytesMax / shape[i]) {
        fail(ErrorCode::data_loss, "a row would have more than 2 GiB");
      }
      row_values_ *= shape[i];
    }
  }

  void check_size() const {
    __extension__ using Wide = unsigned __int128;
    const Wide wanted = Wide{rows_} * row_values_ * value_bytes_ + data_begin_;
    if (wanted == array_.bytes) return;
    fail(ErrorCode::data_loss,
         fmt::format("{} rows of {} values of {} bytes don't make the {} bytes behind the header; "
                     "the file is cut or not an array",
                     rows_, row_values_, value_bytes_, array_.bytes - data_begin_));
  }

  void add_texts(std::string_view bytes, ExampleBuilder& builder) const {
    std::vector<std::string_view> texts;
    for (std::size_t at = 0; at < bytes.size(); at += value_bytes_) {
      std::string_view text = bytes.substr(at, value_bytes_);
      while (text.ends_with('\0')) text.remove_suffix(1);
      texts.push_back(text);
    }
    builder.bytes(name_, texts);
  }

  template <class T>
  void add_floats(std::string_view bytes, ExampleBuilder& builder) const {
    std::vector<float> values;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes.data() + at, sizeof(T));
      values.push_back(static_cast<float>(value));
    }
    builder.floats(name_, values);
  }

  void add_integers(std::string_view bytes, ExampleBuilder& builder) const {
    if (kind_ == 'u' && value_bytes_ == 1 && rank_ > 1) {
      builder.bytes(name_, bytes);  // pixels
      return;
    }
    std::vector<std::int64_t> values;
    for (std::size_t at = 0; at < bytes.size(); at += value_bytes_) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, value_bytes_);
      const auto unused_bits = static_cast<unsigned>(64 - 8 * value_bytes_);
      if (kind_ == 'i') {
        values.push_back(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
      } else if (value <= std::uint64_t{INT64_MAX}) {
        values.push_back(static_cast<std::int64_t>(value));
      } else {
        fail(ErrorCode::invalid_argument,
             fmt::format("the value {} is larger than a feature's integers (2^63 - 1)", value));
      }
    }
    builder.integers(name_, values);
  }

  const FilePart array_;
  const std::string name_;
  std::uint64_t data_begin_ = 0;
  char kind_ = 'u';
  std::size_t value_bytes_ = 1;
  std::uint64_t rows_ = 0;
  std::size_t rank_ = 1;
  std::uint64_t row_values_ = 1;
};

class NpyReader final : public FeatureReader {
 public:
  explicit NpyReader(const std::deque<NpyColumn>& columns) : columns_(columns) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    for (const NpyColumn& column : columns_) column.add_row(index, bytes_, builder);
  }

  const std::deque<NpyColumn>& columns_;
  std::string bytes_;
};

class NpyInput final : public ExampleInput {
 public:
  /// `wanted`: the columns to take; none: all.
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

  std::uint64_t size() const override { return columns_.front().rows(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<NpyReader>(columns_);
  }
  std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const NpyColumn& column : columns_) names.push_back(column.name());
    return names;
  }
  std::string describe() const override {
    return fmt::format("{} rows of {}", size(), fmt::join(columns(), ", "));
  }
  std::string name_of(std::uint64_t index) const override {
    return fmt::format("{}#{}", columns_.front().name(), index);
  }
  std::vector<InputFile> files() const override { return files_; }

 private:
  static std::string column_name(const std::string& file) {
    std::string name = std::filesystem::path(input_file_name(file)).stem().string();
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());  // of name.npy.gz
    return name;
  }

  void add_members(const std::shared_ptr<const SeekableFile>& zip) {
    const ZipFile members(zip);
    for (const ZipFile::Member& member : members.members()) {
      if (!member.name.ends_with(kEnding)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("its member '{}' is no array (.npy); write the file with "
                                "numpy.savez",
                                member.name))
            .at_file(zip->name());
      }
      const std::string name = member.name.substr(0, member.name.size() - kEnding.size());
      if (is_wanted(name)) add(name, members.open(member));
    }
  }

  bool is_wanted(const std::string& name) const {
    return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }

  void add(const std::string& name, FilePart array) {
    for (const NpyColumn& column : columns_) {
      if (column.name() != name) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a column '{}' comes from '{}', too; give one another name", name,
                              column.file()))
          .at_file(array.file->name());
    }
    columns_.emplace_back(name, std::move(array));
    const NpyColumn& first = columns_.front();
    const NpyColumn& last = columns_.back();
    if (last.rows() == first.rows()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("array '{}' has {} rows, but '{}' has {}; columns of one dataset have "
                            "as many rows: choose those that belong together with --columns",
                            name, last.rows(), first.name(), first.rows()))
        .at_file(last.file());
  }

  static constexpr std::string_view kEnding = ".npy";
  const std::vector<std::string> wanted_;
  std::vector<InputFile> files_;
  std::deque<NpyColumn> columns_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_npy(const Files& files, const InputOptions& options) {
  return std::make_unique<NpyInput>(files, options.columns);
}

}  // namespace infeed::tools
