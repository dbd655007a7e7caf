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

/// Why: what NumPy saves, as columns: an array's first axis numbers the rows.
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
/// Refused, with what to save instead: complex numbers, U, times, objects, structured arrays, Fortran
/// order (numpy.ascontiguousarray turns it), single values.
///
/// Errors: data_loss for what is cut, damaged, or no array (a header is compared with the file's size
/// before anything is allocated); invalid_argument for what is refused. They name array and file.
namespace infeed {

/// What a header says: NumPy's format, versions 1 to 3 (numpy/lib/format.py): the magic, two bytes of
/// version, the size of the header as u16 or u32, the header as a Python dict {'descr',
/// 'fortran_order', 'shape'}, then the elements.
struct NpyLayout {
  DType dtype = DType::uint8;  ///< bytes for S
  std::size_t item_bytes = 1;  ///< of S: the longest
  bool is_swapped = false;     ///< the bytes of an item come from large to small
  std::int64_t rows = 0;
  Shape row_shape;
  std::uint64_t data_begin = 0;

  std::uint64_t row_bytes() const {
    return static_cast<std::uint64_t>(row_shape.items()) * item_bytes;
  }
  /// Whether rows of both may stand in one batch.
  bool fits(const NpyLayout& other) const {
    return dtype == other.dtype && row_shape == other.row_shape;
  }
};

/// Of the first bytes of an array of `bytes` in all. `front` must hold the header, for which
/// kNpyFrontBytes are always enough.
NpyLayout parse_npy_header(std::string_view front, std::uint64_t bytes);
inline constexpr std::size_t kNpyFrontBytes = (std::size_t{1} << 20) + 12;

enum class ArrayMemory : std::uint8_t {
  /// The file's pages themselves where they can be shown as they are. They must not change, and the
  /// file must not become shorter, as long as a column of it lives: that would end the process.
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

  /// Rows first, ..., first + rows - 1. Data_loss where a bool is neither 0 nor 1.
  Column read(std::int64_t first, std::int64_t rows,
              ArrayMemory memory = ArrayMemory::mapped) const;
  /// The same, as they lie in the file but in this machine's order of bytes.
  void read_bytes(std::int64_t first, std::int64_t rows, std::span<char> into) const;

 private:
  Tensor read_dense(std::int64_t first, std::int64_t rows, ArrayMemory memory) const;
  Column read_texts(std::int64_t first, std::int64_t rows) const;

  detail::FilePart array_;
  std::string name_;
  NpyLayout layout_;
};

struct NpyOptions {
  Compression compression = Compression::automatic;  ///< of the file; gzip is told by content
  /// Of an NPZ file, in this order; none: all. A name that isn't there is invalid_argument.
  std::vector<std::string> arrays = {};
  /// Whether CRC-32s of stored members are compared when the file is opened, which reads it once.
  bool verify = true;
  UrlOptions url = {};  ///< by URL: copied to TMPDIR first (seekable_file.h)
};

/// A file with one array, whose name is given.
NpyArray open_npy(const std::string& file, std::string name, const NpyOptions& options = {});
/// All arrays of an NPZ file, by their names without ".npy". Compressed ones are decompressed into
/// files without a name (seekable_file.h).
std::vector<NpyArray> open_npz(const std::string& file, const NpyOptions& options = {});
/// Their layouts alone, in the same order; nothing is decompressed but their headers.
std::vector<std::pair<std::string, NpyLayout>> read_npz_layouts(const std::string& file,
                                                                const NpyOptions& options = {});

}  // namespace infeed
