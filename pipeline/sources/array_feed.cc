#include "sources/array_feed.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/detail/data_front.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>

namespace infeed::detail {
namespace {

ArrayLayouts layouts_of(const Arrays& arrays) {
  ArrayLayouts layouts;
  for (const NpyArray& array : arrays) layouts.emplace_back(array.name(), array.layout());
  return layouts;
}

void require_same_rows(const ArrayLayouts& layouts, const std::string& file) {
  for (const auto& [name, layout] : layouts) {
    const auto& [first_name, first] = layouts.front();
    if (layout.rows == first.rows) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("array '{}' has {} rows, but '{}' has {}; columns have as many rows: "
                            "choose the arrays that belong together with {{.arrays = ...}}",
                            name, layout.rows, first_name, first.rows))
        .at_file(file);
  }
}

std::string describe_column(const NpyLayout& layout) {
  return fmt::format("{}{}", to_string(layout.dtype), layout.row_shape.to_string());
}

/// Returns true if the file can be read in place: a regular file that isn't compressed.
bool is_plain_file(const std::string& file, Compression compression) {
  std::error_code error;
  if (is_url(file) || !std::filesystem::is_regular_file(file, error)) return false;
  if (compression != Compression::automatic) return compression == Compression::none;
  const File opened = File::open_to_read(file);
  std::string front(detail::kDataFrontBytes, '\0');
  front.resize(opened.read_at(0, front));
  return detail::recognise_data_compression(front) == Compression::none;
}

}  // namespace

ArrayFiles::ArrayFiles(std::vector<std::vector<ArrayFile>> parts, NpyOptions options)
    : parts_(std::move(parts)), options_(std::move(options)) {}

std::vector<std::string> ArrayFiles::names() const {
  std::vector<std::string> names;
  for (const auto& part : parts_) {
    for (const ArrayFile& file : part) names.push_back(file.file);
  }
  return names;
}

std::shared_ptr<const Arrays> ArrayFiles::open(std::size_t part, const UrlOptions& url) const {
  NpyOptions options = options_;
  options.url = url;
  Arrays arrays;
  for (const auto& [column, file] : parts_[part]) {
    if (column.empty()) {
      for (NpyArray& array : open_npz(file, options)) arrays.push_back(std::move(array));
    } else {
      arrays.push_back(open_npy(file, column, options));
    }
  }
  const ArrayLayouts layouts = layouts_of(arrays);
  require_same_rows(layouts, arrays.back().file());
  require_columns_of_first(part, layouts, url);
  put_in_order_of_first(arrays);
  return std::make_shared<const Arrays>(std::move(arrays));
}

void ArrayFiles::put_in_order_of_first(Arrays& arrays) const {
  const std::lock_guard lock(mutex_);
  if (!first_) return;
  Arrays ordered;
  for (const auto& column : *first_) {
    for (NpyArray& array : arrays) {
      if (array.name() == column.first) ordered.push_back(std::move(array));
    }
  }
  arrays = std::move(ordered);
}

ArrayLayouts ArrayFiles::headers(std::size_t part, const UrlOptions& url) const {
  NpyOptions options = options_;
  options.url = url;
  ArrayLayouts layouts;
  for (const auto& [column, file] : parts_[part]) {
    if (column.empty()) {
      for (auto& array : read_npz_layouts(file, options)) layouts.push_back(std::move(array));
    } else {
      layouts.emplace_back(column, open_npy(file, column, options).layout());
    }
  }
  require_same_rows(layouts, redacted_url(parts_[part].back().file));
  return layouts;
}

void ArrayFiles::require_columns_of_first(std::size_t part, const ArrayLayouts& layouts,
                                          const UrlOptions& url) const {
  const std::lock_guard lock(mutex_);
  if (part == 0) {
    if (!first_) first_ = layouts;
    return;
  }
  if (!first_) {
    // A first part that can't be read is an error of its own, in its place.
    try {
      first_ = headers(0, url);
    } catch (const Error&) {
      return;
    }
  }
  const std::string& file = parts_[part].front().file;
  const std::string& first_file = parts_[0].front().file;
  const auto fail = [&](const std::string& what) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}; files that are read one after the other have the same columns", what))
        .at_file(redacted_url(file));
  };
  if (layouts.size() != first_->size()) {
    fail(fmt::format("it has {} arrays, but '{}' has {}", layouts.size(), redacted_url(first_file),
                     first_->size()));
  }
  for (const auto& [name, layout] : layouts) {
    const auto other =
        std::find_if(first_->begin(), first_->end(),
                     [&name = name](const auto& array) { return array.first == name; });
    if (other == first_->end()) {
      fail(fmt::format("it has an array '{}', which '{}' lacks", name, redacted_url(first_file)));
    }
    if (!layout.fits(other->second)) {
      fail(fmt::format("array '{}' has rows of {}, but in '{}' they are {}", name,
                       describe_column(layout), redacted_url(first_file),
                       describe_column(other->second)));
    }
  }
}

std::optional<std::int64_t> ArrayFiles::count(std::size_t part) const {
  for (const ArrayFile& file : parts_[part]) {
    if (!is_plain_file(file.file, options_.compression)) return std::nullopt;
  }
  const ArrayLayouts layouts = headers(part, options_.url);
  require_columns_of_first(part, layouts, options_.url);
  return layouts.front().second.rows;
}

std::optional<std::uint64_t> ArrayFiles::count_all() const {
  std::uint64_t total = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    try {
      const auto rows = count(part);
      if (!rows) return std::nullopt;
      total += static_cast<std::uint64_t>(*rows);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return total;
}

ColumnBatch read_array_rows(const std::vector<ArrayRows>& pieces, ArrayMemory memory) {
  std::vector<ColumnBatch> batches;
  for (const ArrayRows& piece : pieces) {
    std::vector<NamedColumn> columns;
    for (const NpyArray& array : *piece.arrays) {
      columns.push_back({array.name(), array.read(piece.first, piece.rows, memory)});
    }
    batches.emplace_back(std::move(columns));
  }
  return join_rows(batches);
}

std::uint64_t ArrayFeed::read(std::uint64_t rows_max, std::vector<ArrayRows>& out) {
  out.clear();
  return pass(rows_max, false, [&](std::int64_t rows) { out.push_back({arrays_, row_, rows}); });
}

std::uint64_t ArrayFeed::skip(std::uint64_t rows, bool headers_suffice) {
  return pass(rows, headers_suffice, [](std::int64_t) {});
}

template <class Take>
std::uint64_t ArrayFeed::pass(std::uint64_t rows_max, bool headers_suffice, Take take) {
  std::uint64_t passed = 0;
  while (passed < rows_max && failure_ == nullptr) {
    try {
      if (arrays_ == nullptr) {
        if (next_ == files_->parts()) break;
        const std::size_t part = next_++;
        if (headers_suffice) {
          const auto rows = files_->count(part);
          if (rows && static_cast<std::uint64_t>(*rows) <= rows_max - passed) {
            passed += static_cast<std::uint64_t>(*rows);
            continue;
          }
        }
        arrays_ = files_->open(part, url_);
        row_ = 0;
      }
      const std::int64_t left = arrays_->front().layout().rows - row_;
      const auto rows = static_cast<std::int64_t>(
          std::min<std::uint64_t>(rows_max - passed, static_cast<std::uint64_t>(left)));
      if (rows != 0) take(rows);
      row_ += rows;
      passed += static_cast<std::uint64_t>(rows);
      if (rows == left) arrays_ = nullptr;
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  if (failure_ != nullptr && passed == 0) std::rethrow_exception(std::exchange(failure_, nullptr));
  return passed;
}

}  // namespace infeed::detail
