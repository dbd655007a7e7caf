#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/example.h>

#include "convert/inputs/zip_members.h"

/// NumPy's format, versions 1 to 3 (numpy/lib/format.py): the magic, two bytes of version, the size
/// of the header as u16 or u32, the header as a Python dict {'descr', 'fortran_order', 'shape'},
/// then the elements.
namespace infeed::tools {

/// One array: a file of its own, or a member of an NPZ file. Errors name it and its file.
///
/// Thread-safety: as const, any number of threads at once.
class NpyColumn {
 public:
  /// Error data_loss for what is cut or no array, invalid_argument for what can't be converted.
  NpyColumn(std::string name, FilePart array);

  const std::string& name() const { return name_; }
  const std::string& file() const { return array_.file->name(); }
  std::uint64_t rows() const { return rows_; }
  /// Of a row.
  std::vector<std::uint64_t> shape() const { return {shape_.begin() + 1, shape_.end()}; }
  /// Whether numbers change on their way; empty when they don't.
  std::string note() const;

  /// `bytes` is room to work in.
  void add_row(std::uint64_t row, std::string& bytes, ExampleBuilder& builder) const;

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const;
  [[noreturn]] void fail_as_damaged(const std::string& what, std::string_view header) const;
  void read_header();
  void parse_type(std::string_view text, std::string_view header);
  void parse_shape(std::string_view text, std::string_view header);
  void check_size() const;
  void swap_bytes(std::string& bytes) const;
  float float_at(const char* at) const;
  void add_texts(std::string_view bytes, ExampleBuilder& builder) const;
  void add_floats(std::string_view bytes, ExampleBuilder& builder) const;
  void add_integers(std::string_view bytes, ExampleBuilder& builder) const;

  const FilePart array_;
  const std::string name_;
  std::uint64_t data_begin_ = 0;
  char kind_ = 'u';  ///< b, u, i, f, S as NumPy has them
  std::size_t value_bytes_ = 1;
  bool is_swapped_ = false;  ///< the bytes of a value come from large to small
  std::uint64_t rows_ = 0;
  std::vector<std::uint64_t> shape_;
  std::uint64_t row_values_ = 1;
};

}  // namespace infeed::tools
