#include "infeed/records/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <unordered_set>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/limits.h"

namespace infeed {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they are");

/// Returns the layout, or throws an error that names the array and its file.
template <class Parse>
NpyLayout named_layout(const std::string& name, const std::string& file, Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (!error.file().empty()) throw;
    throw error.reworded(error.code(), fmt::format("array '{}': {}", name, error.message()))
        .at_file(file);
  }
}

NpyLayout read_layout(const detail::FilePart& array) {
  constexpr std::size_t kUsualBytes = 4096;
  std::string front;
  for (const std::size_t wanted : {kUsualBytes, kNpyFrontBytes}) {
    front.resize(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, array.bytes)));
    array.file->read_exactly(array.begin, front);
    std::uint32_t header_bytes = 0;
    if (front.size() >= 12) std::memcpy(&header_bytes, front.data() + 8, front[6] > 1 ? 4 : 2);
    if (header_bytes + 12 <= front.size()) break;
  }
  return parse_npy_header(front, array.bytes);
}

template <std::size_t N>
void swap_items(std::span<char> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += N) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + N));
  }
}

void swap_items(std::span<char> bytes, std::size_t item_bytes) {
  if (item_bytes == 2) swap_items<2>(bytes);
  if (item_bytes == 4) swap_items<4>(bytes);
  if (item_bytes == 8) swap_items<8>(bytes);
}

std::string array_name(const std::string& member, const std::string& file) {
  constexpr std::string_view kEnding = ".npy";
  if (member.ends_with(kEnding)) return member.substr(0, member.size() - kEnding.size());
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("its member '{}' is no array (.npy); write the file with numpy.savez", member))
      .at_file(file);
}

/// Calls `visit(name, member)` for the wanted arrays, in the wanted order.
template <class Visit>
void visit_arrays(const detail::ZipFile& zip, const std::string& file, const NpyOptions& options,
                  Visit visit) {
  std::vector<std::pair<std::string, const detail::ZipFile::Member*>> arrays;
  std::unordered_set<std::string> names_seen;
  for (const auto& member : zip.members()) {
    std::string name = array_name(member.name, file);
    if (!names_seen.insert(name).second) {
      throw Error(ErrorCode::data_loss, fmt::format("it has two arrays '{}'", name)).at_file(file);
    }
    arrays.emplace_back(std::move(name), &member);
  }
  if (arrays.empty()) throw Error(ErrorCode::data_loss, "it has no arrays").at_file(file);
  if (options.arrays.empty()) {
    for (const auto& [name, member] : arrays) visit(name, *member);
  }
  for (const std::string& wanted : options.arrays) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& array) { return array.first == wanted; });
    if (found == arrays.end()) {
      std::string names;
      for (const auto& array : arrays) names += (names.empty() ? "" : ", ") + array.first;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there is no array '{}' in it; there are {}", wanted, names))
          .at_file(file);
    }
    visit(wanted, *found->second);
  }
}

/// Throws where the array hasn't all of these rows.
void require_rows(const NpyArray& array, std::int64_t first, std::int64_t rows) {
  const std::int64_t all = array.layout().rows;
  if (first >= 0 && rows >= 0 && first <= all - rows) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("array '{}' has {} rows; {} rows from row {} on can't be read",
                          array.name(), all, rows, first))
      .at_file(array.file());
}

/// Throws where the array is of bools and one of the rows from `first` on is neither 0 nor 1.
void require_bools(const NpyArray& array, std::int64_t first, std::span<const char> bytes) {
  if (array.layout().dtype != DType::boolean) return;
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](char c) { return (c & ~1) != 0; });
  if (bad == bytes.end()) return;
  const auto at = static_cast<std::uint64_t>(bad - bytes.begin());
  const std::uint64_t row = static_cast<std::uint64_t>(first) + at / array.layout().row_bytes();
  throw Error(ErrorCode::data_loss,
              fmt::format("array '{}': a bool of row {} has the byte {}, but 0 or 1 is expected; "
                          "the file is damaged",
                          array.name(), row, static_cast<unsigned char>(*bad)))
      .at_file(array.file())
      .at_record(row);
}

}  // namespace

NpyArray::NpyArray(std::string name, detail::FilePart array)
    : array_(std::move(array)),
      name_(std::move(name)),
      layout_(named_layout(name_, file(), [this] { return read_layout(array_); })) {}

void NpyArray::read_bytes(std::int64_t first, std::int64_t rows, std::span<char> into) const {
  require_rows(*this, first, rows);
  if (into.size() != static_cast<std::uint64_t>(rows) * layout_.row_bytes()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("array '{}' has {} bytes in {} rows, which can't be read into {}", name_,
                    static_cast<std::uint64_t>(rows) * layout_.row_bytes(), rows, into.size()))
        .at_file(file());
  }
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * layout_.row_bytes();
  array_.file->read_exactly(array_.begin + layout_.data_begin + begin, into);
  if (layout_.is_swapped) swap_items(into, layout_.item_bytes);
  require_bools(*this, first, into);
}

Column NpyArray::read(std::int64_t first, std::int64_t rows, ArrayMemory memory) const {
  require_rows(*this, first, rows);  // before memory is taken for them
  if (layout_.dtype == DType::bytes) return read_texts(first, rows);
  return Column::dense(read_dense(first, rows, memory));
}

Tensor NpyArray::read_dense(std::int64_t first, std::int64_t rows, ArrayMemory memory) const {
  Shape shape(rows, layout_.row_shape);
  if (memory == ArrayMemory::mapped && !layout_.is_swapped && shape.items() != 0) {
    const std::uint64_t begin =
        array_.begin + layout_.data_begin + static_cast<std::uint64_t>(first) * layout_.row_bytes();
    if (begin % layout_.item_bytes == 0) {  // a mapping begins at a page
      if (std::shared_ptr<const char> mapped = array_.file->map()) {
        const char* const data = mapped.get() + begin;
        const auto bytes = static_cast<std::size_t>(rows) * layout_.row_bytes();
        require_bools(*this, first, {data, bytes});
        return Tensor::adopt(layout_.dtype, std::move(shape), data, std::move(mapped));
      }
    }
  }
  Tensor values(layout_.dtype, std::move(shape));
  const std::span<std::byte> bytes = values.writable_bytes();
  read_bytes(first, rows, {reinterpret_cast<char*>(bytes.data()), bytes.size()});
  return values;
}

Column NpyArray::read_texts(std::int64_t first, std::int64_t rows) const {
  std::string bytes(static_cast<std::size_t>(rows) * layout_.row_bytes(), '\0');
  read_bytes(first, rows, bytes);
  std::vector<std::string_view> texts;
  texts.reserve(bytes.size() / layout_.item_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += layout_.item_bytes) {
    std::string_view text = std::string_view(bytes).substr(at, layout_.item_bytes);
    text.remove_suffix(text.size() - (text.find_last_not_of('\0') + 1));
    texts.push_back(text);
  }
  Column column = Column::of_bytes(texts);
  if (layout_.row_shape.rank() == 0) return column;
  Tensor splits(DType::int64, {rows + 1});
  const std::span<std::int64_t> ends = splits.writable<std::int64_t>();
  for (std::int64_t i = 0; i <= rows; ++i) {
    ends[static_cast<std::size_t>(i)] = i * layout_.row_shape.items();
  }
  std::vector<Tensor> levels;
  levels.push_back(std::move(splits));
  return Column::ragged_bytes(std::move(levels), column.partitions()[0], column.values());
}

NpyArray open_npy(const std::string& file, std::string name, const NpyOptions& options) {
  const auto opened = std::make_shared<SeekableFile>(file, options.compression, options.url);
  return {std::move(name), {opened, 0, opened->size_bytes()}};
}

std::vector<NpyArray> open_npz(const std::string& file, const NpyOptions& options) {
  const auto opened = std::make_shared<SeekableFile>(file, options.compression, options.url);
  const detail::ZipFile zip(opened);
  using Check = detail::ZipFile::Check;
  const std::size_t count = options.arrays.empty() ? zip.members().size() : options.arrays.size();
  if (count > limits::npz_arrays) {
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("{} of its arrays would be read at once, but {} are the limit; choose "
                            "some",
                            count, limits::npz_arrays))
        .at_file(opened->name());
  }
  std::vector<NpyArray> arrays;
  visit_arrays(zip, opened->name(), options, [&](const std::string& name, const auto& member) {
    arrays.emplace_back(name, zip.open(member, options.verify ? Check::crc : Check::nothing));
  });
  return arrays;
}

std::vector<std::pair<std::string, NpyLayout>> read_npz_layouts(const std::string& file,
                                                                const NpyOptions& options) {
  const auto opened = std::make_shared<SeekableFile>(file, options.compression, options.url);
  const detail::ZipFile zip(opened);
  std::vector<std::pair<std::string, NpyLayout>> layouts;
  visit_arrays(zip, opened->name(), options, [&](const std::string& name, const auto& member) {
    layouts.emplace_back(name, named_layout(name, opened->name(), [&] {
                           return parse_npy_header(zip.read_front(member, kNpyFrontBytes),
                                                   member.bytes);
                         }));
  });
  return layouts;
}

}  // namespace infeed
