#include <array>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>

#include <infeed/records/arrow.h>

#include "infeed/error.h"
#include "python/arrow_capsules.h"

namespace infeed::python {
namespace {

struct ArrayRelease {
  void operator()(ArrowArray* array) const {
    if (array->release != nullptr) array->release(array);
    delete array;
  }
};
struct SchemaRelease {
  void operator()(ArrowSchema* schema) const {
    if (schema->release != nullptr) schema->release(schema);
    delete schema;
  }
};
using OwnedSchema = std::unique_ptr<ArrowSchema, SchemaRelease>;
/// Keeps an array's memory. Producers allow its release on any thread.
using Keeper = std::shared_ptr<const void>;

/// A node of Arrow's type with its data, and the rows of it that are read.
struct Node {
  const ArrowSchema& schema;
  const ArrowArray& array;
  std::int64_t first;  ///< counted from the beginning of the buffers
  std::int64_t count;
  std::string name;  ///< name of the column, for messages

  std::string_view format() const { return schema.format; }
  /// Returns child i, read from the same place: Arrow's offset of a child comes on top.
  Node child(std::int64_t i, std::int64_t first_item, std::int64_t items) const {
    const ArrowArray& below = *array.children[i];
    return {*schema.children[i], below, first_item + below.offset, items, name};
  }
  template <class T>
  const T* buffer(std::size_t index) const {
    return static_cast<const T*>(array.buffers[index]);
  }
};

[[noreturn]] void fail(const Node& node, std::string_view reason) {
  throw Error(ErrorCode::invalid_argument, fmt::format("Arrow column '{}': {}", node.name, reason));
}

/// Throws for nulls among the rows that are read: there is no null in a column.
void require_values(const Node& node) {
  if (node.array.null_count == 0 || node.array.n_buffers == 0) return;
  const auto* const bits = node.buffer<std::uint8_t>(0);
  if (bits == nullptr) return;
  for (std::int64_t row = node.first; row < node.first + node.count; ++row) {
    if ((bits[row / 8] >> (row % 8) & 1) == 0) {
      fail(node, fmt::format("row {} is null, and columns of infeed have no nulls; fill them first "
                             "(pyarrow.compute.fill_null, polars' fill_null)",
                             row - node.first));
    }
  }
}

/// Returns the type of numbers of an Arrow format; dates, times and durations are their integers.
std::optional<DType> number_type(std::string_view format) {
  constexpr std::array<std::pair<std::string_view, DType>, 11> kNumbers = {{{"c", DType::int8},
                                                                            {"s", DType::int16},
                                                                            {"i", DType::int32},
                                                                            {"l", DType::int64},
                                                                            {"C", DType::uint8},
                                                                            {"S", DType::uint16},
                                                                            {"I", DType::uint32},
                                                                            {"L", DType::uint64},
                                                                            {"e", DType::float16},
                                                                            {"f", DType::float32},
                                                                            {"g", DType::float64}}};
  for (const auto& [name, dtype] : kNumbers) {
    if (format == name) return dtype;
  }
  if (format == "tdD" || format == "tts" || format == "ttm") return DType::int32;
  if (format == "tdm" || format.starts_with("tt") || format.starts_with("ts") ||
      format.starts_with("tD")) {
    return DType::int64;
  }
  return std::nullopt;
}

/// Returns true if the metadata has the pair infeed.dtype and bfloat16, as records/columns/arrow.cc
/// writes it. Metadata is the number of pairs, then each text behind its length.
bool is_bfloat16(const ArrowSchema& schema) {
  if (schema.metadata == nullptr || std::string_view(schema.format) != "S") return false;
  const char* at = schema.metadata;
  const auto number = [&at] {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    return value;
  };
  const auto text = [&] {
    const auto size = static_cast<std::size_t>(number());
    return std::string_view(std::exchange(at, at + size), size);
  };
  for (std::int32_t pairs = number(); pairs > 0; --pairs) {
    const std::string_view key = text();
    const std::string_view value = text();
    if (key == "infeed.dtype") return value == "bfloat16";
  }
  return false;
}

Tensor bits_tensor(const Node& node) {
  Tensor values(DType::boolean, {node.count});
  const auto* const bits = node.buffer<std::uint8_t>(1);
  const auto bools = values.writable<bool>();
  for (std::int64_t i = 0; i < node.count; ++i) {
    const std::int64_t bit = node.first + i;
    bools[static_cast<std::size_t>(i)] = (bits[bit / 8] >> (bit % 8) & 1) != 0;
  }
  return values;
}

Tensor numbers_tensor(const Node& node, const Keeper& keeper) {
  require_values(node);
  if (node.format() == "b") return bits_tensor(node);
  std::optional<DType> dtype = number_type(node.format());
  if (!dtype) {
    fail(node, fmt::format("Arrow's type '{}' is no column of infeed; cast it to numbers, bool, "
                           "binary, string, or lists of them (a dictionary: to its values)",
                           node.format()));
  }
  if (is_bfloat16(node.schema)) dtype = DType::bfloat16;
  if (node.count == 0) return {*dtype, {0}};
  const std::byte* const data =
      node.buffer<std::byte>(1) + node.first * static_cast<std::int64_t>(item_bytes(*dtype));
  if (reinterpret_cast<std::uintptr_t>(data) % item_bytes(*dtype) != 0) {
    Tensor copy(*dtype, {node.count});
    std::memcpy(copy.writable_bytes().data(), data, copy.bytes());
    return copy;
  }
  return Tensor::adopt(*dtype, {node.count}, data, keeper);
}

/// Returns offsets of the rows that begin with 0, and where they began.
template <class Offset>
std::pair<Tensor, std::int64_t> offsets_of(const Node& node) {
  Tensor offsets(DType::int64, {node.count + 1});
  const auto out = offsets.writable<std::int64_t>();
  const Offset* const in = node.buffer<Offset>(1);
  // An array without rows need not have offsets.
  const std::int64_t first = node.count == 0 ? 0 : in[node.first];
  out[0] = 0;
  for (std::int64_t i = 1; i <= node.count; ++i) {
    out[static_cast<std::size_t>(i)] = in[node.first + i] - first;
  }
  return {std::move(offsets), first};
}

std::pair<Tensor, std::int64_t> offsets_of(const Node& node, bool is_large) {
  require_values(node);
  return is_large ? offsets_of<std::int64_t>(node) : offsets_of<std::int32_t>(node);
}

/// Copies texts that lie in several buffers (polars and newer pyarrow have them).
Column copied_views(const Node& node) {
  struct View {
    std::int32_t bytes;
    std::array<char, 4> prefix;
    std::int32_t buffer;
    std::int32_t offset;
  };
  constexpr std::int32_t kInlineMax = 12;  // a text up to here lies in the view, behind its length
  require_values(node);
  std::vector<std::string_view> texts;
  for (std::int64_t row = node.first; row < node.first + node.count; ++row) {
    const View& view = node.buffer<View>(1)[row];
    const char* const text =
        view.bytes <= kInlineMax
            ? view.prefix.data()
            : node.buffer<char>(static_cast<std::size_t>(2 + view.buffer)) + view.offset;
    texts.emplace_back(text, static_cast<std::size_t>(view.bytes));
  }
  return Column::of_bytes(texts);
}

Column texts_column(const Node& node, const Keeper& keeper) {
  auto [offsets, first] = offsets_of(node, node.format() == "Z" || node.format() == "U");
  const std::int64_t bytes = std::as_const(offsets).values<std::int64_t>().back();
  Tensor data =
      bytes == 0 ? Tensor()
                 : Tensor::adopt(DType::uint8, {bytes}, node.buffer<std::byte>(2) + first, keeper);
  return Column::bytes(std::move(offsets), std::move(data));
}

void refuse_dictionary(const Node& node) {
  if (node.schema.dictionary == nullptr) return;
  fail(node,
       "it is dictionary-encoded; decode it first (.dictionary_decode() in pyarrow, a cast to "
       "strings in polars)");
}

/// Returns a fixed-size list's values, with the list's extents in front of the items'.
Tensor shaped_tensor(const Node& node, const Keeper& keeper, std::vector<std::int64_t>& extents) {
  refuse_dictionary(node);
  if (!node.format().starts_with("+w:")) {
    if (extents.size() > 1 && node.format() != "b" && !number_type(node.format())) {
      fail(node,
           fmt::format(
               "it has lists of a fixed size, but of Arrow's type '{}'; they may hold numbers and "
               "bools: cast it to lists of any size (pyarrow.list_ without a size)",
               node.format()));
    }
    return numbers_tensor(node, keeper);
  }
  require_values(node);
  const std::int64_t width = std::stoll(std::string(node.format().substr(3)));
  extents.push_back(width);
  return shaped_tensor(node.child(0, node.first * width, node.count * width), keeper, extents);
}

Column column_of(const Node& node, const Keeper& keeper) {
  const std::string_view format = node.format();
  refuse_dictionary(node);
  if (format == "z" || format == "Z" || format == "u" || format == "U") {
    return texts_column(node, keeper);
  }
  if (format == "vz" || format == "vu") return copied_views(node);
  if (format == "+l" || format == "+L") {
    auto [splits, first] = offsets_of(node, format == "+L");
    const std::int64_t items = std::as_const(splits).values<std::int64_t>().back();
    const Column below = column_of(node.child(0, first, items), keeper);
    std::vector<Tensor> all_splits = {std::move(splits)};
    const auto partitions = below.partitions();
    if (below.dtype() == DType::bytes) {
      all_splits.insert(all_splits.end(), partitions.begin(), partitions.end() - 1);
      return Column::ragged_bytes(std::move(all_splits), partitions.back(), below.values());
    }
    all_splits.insert(all_splits.end(), partitions.begin(), partitions.end());
    return Column::ragged(below.values(), std::move(all_splits));
  }
  std::vector<std::int64_t> extents = {node.count};
  const Tensor values = shaped_tensor(node, keeper, extents);
  return Column::dense(values.reshaped(Shape(std::span<const std::int64_t>(extents))));
}

/// Appends the columns of a struct's members.
void append_members(const Node& node, const Keeper& keeper, const std::string& prefix,
                    std::vector<NamedColumn>& columns) {
  require_values(node);
  for (std::int64_t i = 0; i < node.array.n_children; ++i) {
    Node member = node.child(i, node.first, node.count);
    const char* const name = member.schema.name;
    member.name = prefix + (name == nullptr ? "" : name);
    if (member.format() == "+s") {
      append_members(member, keeper, member.name + ".", columns);
    } else {
      columns.push_back({member.name, column_of(member, keeper)});
    }
  }
}

ColumnBatch batch_of(const ArrowSchema& schema, const ArrowArray& array, const Keeper& keeper) {
  const Node root{schema, array, array.offset, array.length, "(table)"};
  if (root.format() != "+s") {
    return ColumnBatch(
        {{"values", column_of({schema, array, array.offset, array.length, "values"}, keeper)}});
  }
  std::vector<NamedColumn> columns;
  append_members(root, keeper, "", columns);
  return ColumnBatch(std::move(columns));
}

ColumnBatch batch_of(const ArrowSchema& schema, std::unique_ptr<ArrowArray, ArrayRelease> owned) {
  const ArrowArray& array = *owned;
  return batch_of(schema, array, Keeper(std::move(owned)));
}

/// Arrays of a type without rows: a stream need not have any.
class NoRows {
 public:
  explicit NoRows(const ArrowSchema& schema) {
    static constexpr std::array<const void*, 3> kNoBuffers{};
    array_.n_buffers = kNoBuffers.size();
    array_.buffers = const_cast<const void**>(kNoBuffers.data());
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      below_.push_back(std::make_unique<NoRows>(*schema.children[i]));
      children_.push_back(&below_.back()->array_);
    }
    array_.n_children = schema.n_children;
    array_.children = children_.data();
  }
  const ArrowArray& array() const { return array_; }

 private:
  ArrowArray array_{};
  std::vector<std::unique_ptr<NoRows>> below_;
  std::vector<ArrowArray*> children_;
};

template <class Struct>
Struct* moved_out(nb::handle capsule, const char* name) {
  auto* const pointer = static_cast<Struct*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (pointer == nullptr) throw nb::python_error();
  auto* const moved = new Struct(*pointer);
  pointer->release = nullptr;
  return moved;
}

std::vector<ColumnBatch> batches_of_stream(nb::handle capsule) {
  auto* const stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  const auto require = [stream](int code) {
    if (code == 0) return;
    const char* const reason = stream->get_last_error(stream);
    throw Error(ErrorCode::data_loss, fmt::format("Arrow's stream failed with code {}: {}", code,
                                                  reason == nullptr ? "no reason given" : reason));
  };
  const OwnedSchema schema(new ArrowSchema{});
  std::vector<ColumnBatch> batches;
  // The stream may be Python's own, or read files.
  const nb::gil_scoped_release without_gil;
  require(stream->get_schema(stream, schema.get()));
  while (true) {
    std::unique_ptr<ArrowArray, ArrayRelease> array(new ArrowArray{});
    require(stream->get_next(stream, array.get()));
    if (array->release == nullptr) break;
    batches.push_back(batch_of(*schema, std::move(array)));
  }
  if (batches.empty()) {
    const NoRows none(*schema);
    batches.push_back(batch_of(*schema, none.array(), nullptr));
  }
  return batches;
}

}  // namespace

std::vector<ColumnBatch> batches_from_arrow(nb::handle source) {
  if (nb::hasattr(source, "__arrow_c_stream__")) {
    return batches_of_stream(source.attr("__arrow_c_stream__")());
  }
  if (!nb::hasattr(source, "__arrow_c_array__")) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a {} has neither __arrow_c_stream__ nor __arrow_c_array__; give a "
                            "table of pyarrow, polars, pandas, DuckDB or datasets",
                            nb::cast<std::string>(nb::str(source.type().attr("__name__")))));
  }
  const nb::object capsules = source.attr("__arrow_c_array__")();
  const OwnedSchema schema(moved_out<ArrowSchema>(capsules[0], "arrow_schema"));
  std::vector<ColumnBatch> batches;
  batches.push_back(batch_of(*schema, std::unique_ptr<ArrowArray, ArrayRelease>(
                                          moved_out<ArrowArray>(capsules[1], "arrow_array"))));
  return batches;
}

}  // namespace infeed::python
