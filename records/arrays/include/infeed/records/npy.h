#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/column.h"
#include "infeed/records/compression.h"
#include "infeed/records/detail/zip_file.h"
#include "infeed/records/url_options.h"

/// Why: arrays that NumPy saved are read as columns. An array's first axis numbers the rows.
///
///     for (const infeed::NpyArray& array : infeed::open_npz("data.npz")) {
///       infeed::Column first = array.read(0, std::min<std::int64_t>(32, array.layout().rows));
///     }
///
/// | descr                         | column                                                      |
/// |-------------------------------|-------------------------------------------------------------|
/// | b1, i1-i8, u1-u8, f2, f4, f8  | dense, of that type and the other axes' shape; big-endian   |
/// |                               | ones in this machine's order                                |
/// | V2                            | dense, bfloat16: NumPy saves that of ml_dtypes (JAX) so     |
/// | S                             | bytes (with more axes: ragged_bytes), without the zeros     |
/// |                               | that fill them up                                           |
///
/// Refused, with advice what to save instead: complex numbers, U, times, objects, structured
/// arrays, Fortran order (numpy.ascontiguousarray turns it), single values.
///
/// Errors name array and file: data_loss for a file that is cut, damaged, or no array (a header is
/// compared with the file's size before anything is allocated); invalid_argument for refused types.
namespace infeed {

/// The content of a header in NumPy's format, versions 1 to 3 (numpy/lib/format.py): the magic, two
/// bytes of version, the size of the header as u16 or u32, the header as a Python dict {'descr',
/// 'fortran_order', 'shape'}, then the elements.
struct NpyLayout {
  DType dtype = DType::uint8;  ///< bytes for S
  std::size_t item_bytes = 1;  ///< bytes of an item; for S those of the longest text
  bool is_swapped = false;     ///< items are big-endian
  std::int64_t rows = 0;
  Shape row_shape;
  std::uint64_t data_begin = 0;

  std::uint64_t row_bytes() const {
    return static_cast<std::uint64_t>(row_shape.items()) * item_bytes;
  }
  /// True if rows of both may stand in one batch.
  bool fits(const NpyLayout& other) const {
    return dtype == other.dtype && row_shape == other.row_shape;
  }
};

/// Parses the front of an array that has `bytes` in all. `front` must hold the whole header;
/// kNpyFrontBytes are always enough.
NpyLayout parse_npy_header(std::string_view front, std::uint64_t bytes);
inline constexpr std::size_t kNpyFrontBytes = (std::size_t{1} << 20) + 12;

enum class ArrayMemory : std::uint8_t {
  /// Shows the file's pages themselves where their bytes can be used as they are. While a column of
  /// the file lives, its bytes must not change and the file must not become shorter: that would end
  /// the process.
  mapped,
  copied,
};

/// One array: a file of its own, or a member of an NPZ file.
///
/// Thread-safety: as const, any number of threads at once.
class NpyArray {
 public:
  NpyArray(std::string name, detail::FilePart array);

  const std::string& name() const { return name_; }
  const std::string& file() const { return array_.file->name(); }
  const NpyLayout& layout() const { return layout_; }

  /// Reads `rows` rows from row `first` on. Throws data_loss where a bool is neither 0 nor 1, as
  /// read_bytes() does.
  Column read(std::int64_t first, std::int64_t rows,
              ArrayMemory memory = ArrayMemory::mapped) const;
  /// Reads the same rows as they lie in the file, but in this machine's byte order.
  void read_bytes(std::int64_t first, std::int64_t rows, std::span<char> into) const;

 private:
  Tensor read_dense(std::int64_t first, std::int64_t rows, ArrayMemory memory) const;
  Column read_texts(std::int64_t first, std::int64_t rows) const;

  detail::FilePart array_;
  std::string name_;
  NpyLayout layout_;
};

struct NpyOptions {
  Compression compression =
      Compression::automatic;  ///< gzip, zstd and lz4 are recognised by content
  /// Arrays of an NPZ file to read, in this order; empty: all. A name that isn't there is
  /// invalid_argument.
  std::vector<std::string> arrays = {};
  /// If true, CRC-32s of stored members are compared when the file is opened, which reads it once.
  bool verify = true;
  UrlOptions url = {};  ///< a URL is copied to TMPDIR first (seekable_file.h)
};

/// Opens a file with one array, which gets the given name.
NpyArray open_npy(const std::string& file, std::string name, const NpyOptions& options = {});
/// Opens all arrays of an NPZ file, by their names without ".npy". Compressed arrays are
/// decompressed into files without a name (seekable_file.h).
std::vector<NpyArray> open_npz(const std::string& file, const NpyOptions& options = {});
/// Reads only the layouts, in the same order. Decompresses nothing but the headers.
std::vector<std::pair<std::string, NpyLayout>> read_npz_layouts(const std::string& file,
                                                                const NpyOptions& options = {});

}  // namespace infeed
