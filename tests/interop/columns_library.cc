#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/arrow.h>
#include <infeed/records/csv.h>
#include <infeed/records/dlpack.h>
#include <infeed/records/features.h>
#include <infeed/records/json_lines.h>
#include <infeed/records/npy.h>

// Columns for test_columns.py, which loads this library and hands their memory to NumPy and pyarrow.
namespace infeed::interop {
namespace {

std::atomic<int> living{0};

/// Memory whose lifetime the test can see.
struct Watched {
  explicit Watched(std::size_t bytes)
      : memory(std::make_unique<std::byte[]>(bytes + 64)),
        aligned(memory.get() + (64 - reinterpret_cast<std::uintptr_t>(memory.get()) % 64)) {
    ++living;
  }
  ~Watched() { --living; }

  std::unique_ptr<std::byte[]> memory;
  std::byte* aligned;
};

/// Item i is i, or i % 2 of bools.
Tensor counted(DType dtype, Shape shape) {
  const Tensor sized(dtype, shape);
  auto watched = std::make_shared<Watched>(sized.bytes());
  std::byte* at = watched->aligned;
  const auto put = [&at](const auto& value) {
    std::memcpy(at, &value, sizeof(value));
    at += sizeof(value);
  };
  for (std::int64_t i = 0; i < shape.items(); ++i) {
    switch (dtype) {
      case DType::boolean:
        put(i % 2 == 1);
        break;
      case DType::int8:
        put(static_cast<std::int8_t>(i));
        break;
      case DType::int16:
        put(static_cast<std::int16_t>(i));
        break;
      case DType::int32:
        put(static_cast<std::int32_t>(i));
        break;
      case DType::int64:
        put(i);
        break;
      case DType::uint8:
        put(static_cast<std::uint8_t>(i));
        break;
      case DType::uint16:
        put(static_cast<std::uint16_t>(i));
        break;
      case DType::uint32:
        put(static_cast<std::uint32_t>(i));
        break;
      case DType::uint64:
        put(static_cast<std::uint64_t>(i));
        break;
      case DType::float16:
        put(infeed::float16(static_cast<float>(i)));
        break;
      case DType::bfloat16:
        put(infeed::bfloat16(static_cast<float>(i)));
        break;
      case DType::float32:
        put(static_cast<float>(i));
        break;
      case DType::float64:
        put(static_cast<double>(i));
        break;
      case DType::bytes:
        throw std::logic_error("bytes are no items of a tensor");
    }
  }
  const void* const data = watched->aligned;
  return Tensor::adopt(dtype, std::move(shape), data, std::move(watched));
}

Tensor splits(std::vector<std::int64_t> ends) {
  return Tensor::copy_of<std::int64_t>({static_cast<std::int64_t>(ends.size())}, ends);
}

/// One column of each kind and dtype, of six rows.
ColumnBatch all_kinds() {
  std::vector<NamedColumn> columns;
  for (std::size_t i = 0; i + 1 < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    columns.push_back({std::string(to_string(dtype)), Column::dense(counted(dtype, {6}))});
  }
  const Tensor ten = counted(DType::int32, {10});
  const Tensor cuts = splits({0, 2, 2, 5, 5, 9, 10});
  columns.push_back({"shaped", Column::dense(counted(DType::float32, {6, 2, 3}))});
  columns.push_back({"flags", Column::dense(counted(DType::boolean, {6, 3}))});
  columns.push_back({"ragged", Column::ragged(ten, {cuts})});
  columns.push_back({"boxes", Column::ragged(counted(DType::float32, {10, 4}), {cuts})});
  columns.push_back(
      {"nested", Column::ragged(ten, {splits({0, 1, 1, 3, 4, 4, 4}), splits({0, 3, 3, 8, 10})})});
  columns.push_back({"bytes", Column::of_bytes({"a", "", "bc", "\xff\xfe", "d", "\xc3\xa9"})});
  const Column words = Column::of_bytes({"0", "1", "22", "", "4", "5", "6", "7", "8", "nine"});
  columns.push_back({"words", Column::ragged_bytes({cuts}, words.partitions()[0], words.values())});
  columns.push_back(
      {"padded", Column::padded(counted(DType::int64, {6, 3}), splits({0, 1, 2, 3, 0, 3}))});
  return ColumnBatch(std::move(columns));
}

}  // namespace
}  // namespace infeed::interop

using namespace infeed;

extern "C" {

int infeed_living() { return interop::living; }

/// A pointer into the dtype's column of `rows` rows of shape [2, 3], sliced from `first` on.
void* infeed_dlpack(const char* dtype, std::int64_t first, std::int64_t rows, int is_versioned) {
  const Tensor tensor =
      interop::counted(dtype_from(dtype), {first + rows, 2, 3}).slice(first, rows);
  if (is_versioned != 0) return export_dlpack(tensor);
  return export_dlpack_unversioned(tensor);
}

void* infeed_dlpack_data(void* exported, int is_versioned) {
  return is_versioned != 0
             ? static_cast<dlpack::DLManagedTensorVersioned*>(exported)->dl_tensor.data
             : static_cast<dlpack::DLManagedTensor*>(exported)->dl_tensor.data;
}

void* infeed_dlpack_writable() {
  Tensor tensor(DType::int32, {4});
  for (std::int32_t& value : tensor.writable<std::int32_t>()) value = 7;
  return export_dlpack(std::move(tensor));
}

/// Rows first, ..., first + rows - 1 of all kinds; `data`: where the values of `column` lie.
void infeed_arrow(std::int64_t first, std::int64_t rows, ArrowSchema* schema, ArrowArray* array,
                  const char* column, const void** data) {
  const ColumnBatch batch = interop::all_kinds().slice(first, rows);
  *data = batch.column(column).values().data();
  export_arrow(batch, schema, array);
}

/// Batches of 6, 5, ..., 1 rows; number `fails_at` is an error.
void infeed_arrow_stream(int fails_at, ArrowArrayStream* stream) {
  export_arrow_stream(
      [fails_at, number = 0]() mutable -> std::optional<ColumnBatch> {
        const int now = number++;
        if (now == 6) return std::nullopt;
        if (now == fails_at) {
          throw Error(ErrorCode::data_loss, "the record is cut").at_file("a.tfrecord").at_record(5);
        }
        return interop::all_kinds().slice(now, 6 - now);
      },
      stream);
}

/// Reads all rows of an array, or of an archive's arrays as columns; errors as with
/// infeed_read_text().
const char* infeed_read_arrays(const char* file, int is_archive, ArrowSchema* schema,
                               ArrowArray* array) {
  static std::string message;
  try {
    std::vector<NpyArray> arrays;
    if (is_archive != 0) {
      arrays = open_npz(file);
    } else {
      arrays.push_back(open_npy(file, "values"));
    }
    std::vector<NamedColumn> columns;
    for (const NpyArray& one : arrays) {
      columns.push_back({one.name(), one.read(0, one.layout().rows)});
    }
    export_arrow(ColumnBatch(std::move(columns)), schema, array);
    return nullptr;
  } catch (const Error& error) {
    message = error.what();
    return message.c_str();
  }
}

/// Reads all rows of a table or of JSON lines (delimiter 0) as one batch. Leaves out bad rows if
/// asked to; a batch without a good row is then an empty one. Returns null, or the message of the
/// error, valid until the next call.
const char* infeed_read_text(const char* file, const char* schema_json, char delimiter,
                             int has_quotes, int leaves_out, ArrowSchema* schema,
                             ArrowArray* array) {
  static std::string message;
  try {
    const auto columns = ColumnSchema::from_json(schema_json);
    const BadRows bad_rows = leaves_out != 0 ? BadRows::leave_out : BadRows::fail;
    std::unique_ptr<ColumnBatch> batch;
    // An error that ends the file comes behind the rows before it.
    const auto read_all = [&batch](auto reader) {
      batch = reader.read(1'000'000);
      if (batch != nullptr) reader.read(1);
    };
    try {
      if (delimiter == 0) {
        read_all(JsonLinesReader({file}, columns, {.bad_rows = bad_rows}));
      } else {
        const Quotes quotes = has_quotes != 0 ? Quotes::rfc4180 : Quotes::none;
        read_all(CsvReader({file}, columns,
                           {.delimiter = delimiter, .quotes = quotes, .bad_rows = bad_rows}));
      }
    } catch (const Error& error) {
      const bool has_no_row = error.message().find("none of the ") != std::string::npos;
      if (leaves_out == 0 || !has_no_row) throw;
    }
    export_arrow(batch == nullptr ? ColumnBatch() : *batch, schema, array);
    return nullptr;
  } catch (const Error& error) {
    message = error.what();
    return message.c_str();
  }
}

/// Reads lines of JSON by a schema and applies feature operations; errors as with
/// infeed_read_text().
const char* infeed_features(const char* file, const char* schema_json, const char* steps_json,
                            ArrowSchema* schema, ArrowArray* array) {
  static std::string message;
  try {
    const auto columns = ColumnSchema::from_json(schema_json);
    const auto batch = JsonLinesReader({file}, columns).read(1'000'000);
    const Features features = Features::from_json(steps_json);
    export_arrow(batch == nullptr ? ColumnBatch() : features(*batch), schema, array);
    return nullptr;
  } catch (const Error& error) {
    message = error.what();
    return message.c_str();
  }
}

}  // extern "C"
