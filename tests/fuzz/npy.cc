#include <string>

#include <infeed/error.h>
#include <infeed/records/npy.h>

#include "fuzz.h"
#include "records/arrays/npy_bytes.h"

/// NPY and NPZ files of any bytes: refused with an Error, or arrays whose rows can all be read,
/// mapped or copied with the same result. Headers alone agree with the whole files.
namespace infeed::fuzz {
namespace {

constexpr std::int64_t kRowsReadMax = 64;

void require_expected(const Error& error) {
  require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::invalid_argument,
          "a bad file is refused as what it is");
}

void require_readable(const NpyArray& array) {
  const NpyLayout& layout = array.layout();
  const std::int64_t rows = std::min(layout.rows, kRowsReadMax);
  try {
    const Column mapped = array.read(layout.rows - rows, rows, ArrayMemory::mapped);
    require(mapped.rows() == rows, "as many rows as were asked for");
    require(mapped == array.read(layout.rows - rows, rows, ArrayMemory::copied),
            "mapped and copied rows are alike");
    if (rows > 1) require(mapped.slice(1, 1).rows() == 1, "a row can be cut out");
  } catch (const Error& error) {
    require(layout.dtype == DType::boolean, "only a bool may turn out to be none");
    require_expected(error);
  }
}

void check_npy(std::string_view bytes) {
  const MemoryFile memory;
  try {
    require_readable(open_npy(memory.write(bytes), "x"));
  } catch (const Error& error) {
    require_expected(error);
  }
}

void check_npz(std::string_view bytes) {
  const MemoryFile memory;
  const std::string file = memory.write(bytes);
  try {
    const auto arrays = open_npz(file, {.compression = Compression::none});
    const auto layouts = read_npz_layouts(file, {.compression = Compression::none});
    require(layouts.size() == arrays.size(), "headers tell of all arrays");
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto& [name, layout] = layouts[i];
      require(name == arrays[i].name() && layout.rows == arrays[i].layout().rows &&
                  layout.fits(arrays[i].layout()),
              "headers say what the whole arrays do");
      require_readable(arrays[i]);
    }
  } catch (const Error& error) {
    require_expected(error);
  }
}

}  // namespace

void check(Input input) {
  switch (input.byte() % 4) {
    case 0:
      return check_npy(input.rest());
    case 1:
      return check_npz(input.rest());
    case 2:  // a header of any text, without its length
      return check_npy(
          test::npy_with_header(std::string(input.bytes(input.byte())), std::string(input.rest())));
    default: {  // a member of any content, with a right checksum
      const bool is_deflated = input.byte() % 2 != 0;
      return check_npz(test::zip_of({{"x.npy", std::string(input.rest())}}, is_deflated));
    }
  }
}

}  // namespace infeed::fuzz
