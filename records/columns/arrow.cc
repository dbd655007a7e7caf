#include "infeed/records/arrow.h"

#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "infeed/error.h"

namespace infeed {
namespace {

/// A field of Arrow's with its data, from which the structs of the C interface are made.
struct ArrowNode {
  std::string name;
  std::string format;
  std::string metadata;  ///< in Arrow's encoding
  std::int64_t length = 0;
  std::vector<const void*> buffers = {nullptr};  ///< the first marks nulls: there are none
  std::vector<Tensor> keeps = {};
  std::vector<ArrowNode> children = {};
};

const char* arrow_format_of(DType dtype) {
  static constexpr std::array<const char*, kDTypes> kFormats = {"b", "c", "s", "i", "l", "C", "S",
                                                                "I", "L", "e", "S", "f", "g", "Z"};
  return kFormats.at(static_cast<std::size_t>(dtype));
}

/// Encodes one key and its value: the number of keys, then key and value, each behind its length.
std::string arrow_metadata(std::string_view key, std::string_view value) {
  std::string bytes;
  const auto add_length = [&bytes](std::size_t length) {
    const auto number = static_cast<std::int32_t>(length);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  add_length(1);
  for (const std::string_view text : {key, value}) {
    add_length(text.size());
    bytes += text;
  }
  return bytes;
}

/// Packs eight bools into a byte, the first one lowest.
Tensor packed_bits(std::span<const bool> values) {
  Tensor bits(DType::uint8, {static_cast<std::int64_t>((values.size() + 7) / 8)});
  const auto bytes = bits.writable<std::uint8_t>();
  for (std::uint8_t& byte : bytes) byte = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | (values[i] ? 1U : 0U) << (i % 8));
  }
  return bits;
}

void show_buffer(ArrowNode& node, Tensor tensor) {
  node.buffers.push_back(tensor.data());
  node.keeps.push_back(std::move(tensor));
}

ArrowNode numbers_node(std::string name, const Tensor& values) {
  ArrowNode node{.name = std::move(name),
                 .format = arrow_format_of(values.dtype()),
                 .metadata = values.dtype() == DType::bfloat16
                                 ? arrow_metadata("infeed.dtype", "bfloat16")
                                 : "",
                 .length = values.shape().items()};
  show_buffer(node, values.dtype() == DType::boolean ? packed_bits(values.values<bool>()) : values);
  return node;
}

/// Nests lists in lists for the axes of a row.
ArrowNode shaped_node(std::string name, const Tensor& values) {
  const Shape& shape = values.shape();
  ArrowNode node = numbers_node("item", values);
  std::int64_t length = shape[0];
  std::vector<std::int64_t> lengths = {length};
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
    lengths.push_back(length *= shape[axis]);
  }
  for (std::size_t axis = shape.rank(); axis-- > 1;) {
    ArrowNode list{.name = "item",
                   .format = fmt::format("+w:{}", shape[axis]),
                   .metadata = "",
                   .length = lengths[axis - 1]};
    list.children.push_back(std::move(node));
    node = std::move(list);
  }
  node.name = std::move(name);
  return node;
}

ArrowNode column_node(std::string name, const Column& column) {
  std::span<const Tensor> splits = column.partitions();
  ArrowNode node;
  if (column.dtype() == DType::bytes) {
    node.format = arrow_format_of(DType::bytes);
    node.length = splits.back().shape()[0] - 1;
    show_buffer(node, splits.back());
    show_buffer(node, column.values());
    splits = splits.first(splits.size() - 1);
  } else {
    node = shaped_node("item", column.values());
    if (column.kind() == Column::Kind::padded) splits = {};
  }
  for (std::size_t level = splits.size(); level-- > 0;) {
    node.name = "item";
    ArrowNode list{
        .name = "item", .format = "+L", .metadata = "", .length = splits[level].shape()[0] - 1};
    show_buffer(list, splits[level]);
    list.children.push_back(std::move(node));
    node = std::move(list);
  }
  node.name = std::move(name);
  return node;
}

ArrowNode batch_node(const ColumnBatch& batch) {
  ArrowNode node{.name = "", .format = "+s", .metadata = "", .length = batch.rows()};
  for (std::size_t i = 0; i < batch.columns().size(); ++i) {
    const Column& column = batch.columns()[i];
    const std::string& name = batch.names()[i];
    if (name.find('\0') != std::string::npos) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("column {} has a name with a zero byte, which Arrow can't hold: '{}'",
                              i, name.c_str()));
    }
    node.children.push_back(column_node(name, column));
    if (column.kind() == Column::Kind::padded) {
      node.children.push_back(numbers_node(name + ".lengths", column.partitions()[0]));
    }
  }
  return node;
}

/// Memory that a struct of the C interface points at. A child that was not moved out is released
/// with it.
template <class Struct>
struct ArrowKeeper {
  explicit ArrowKeeper(std::size_t child_count) : children(child_count) {
    for (Struct& child : children) child_pointers.push_back(&child);
  }
  ~ArrowKeeper() {
    for (Struct& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
  }
  ArrowKeeper(const ArrowKeeper&) = delete;
  ArrowKeeper& operator=(const ArrowKeeper&) = delete;

  std::string name, format, metadata;
  std::vector<const void*> buffers;
  std::vector<Tensor> keeps;
  std::vector<Struct> children;  // no release function until they are filled
  std::vector<Struct*> child_pointers;
};

template <class Struct>
void release_arrow(Struct* released) {
  delete static_cast<ArrowKeeper<Struct>*>(released->private_data);
  released->release = nullptr;
}

void fill_schema(const ArrowNode& node, ArrowSchema* schema) {
  auto keeper = std::make_unique<ArrowKeeper<ArrowSchema>>(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    fill_schema(node.children[i], &keeper->children[i]);
  }
  keeper->name = node.name;
  keeper->format = node.format;
  keeper->metadata = node.metadata;
  *schema = {.format = keeper->format.c_str(),
             .name = keeper->name.c_str(),
             .metadata = node.metadata.empty() ? nullptr : keeper->metadata.data(),
             .flags = 0,
             .n_children = static_cast<std::int64_t>(keeper->children.size()),
             .children = keeper->child_pointers.data(),
             .dictionary = nullptr,
             .release = &release_arrow<ArrowSchema>,
             .private_data = keeper.get()};
  keeper.release();
}

void fill_array(const ArrowNode& node, ArrowArray* array) {
  auto keeper = std::make_unique<ArrowKeeper<ArrowArray>>(node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    fill_array(node.children[i], &keeper->children[i]);
  }
  keeper->buffers = node.buffers;
  keeper->keeps = node.keeps;
  *array = {.length = node.length,
            .null_count = 0,
            .offset = 0,
            .n_buffers = static_cast<std::int64_t>(keeper->buffers.size()),
            .n_children = static_cast<std::int64_t>(keeper->children.size()),
            .buffers = keeper->buffers.data(),
            .children = keeper->child_pointers.data(),
            .dictionary = nullptr,
            .release = &release_arrow<ArrowArray>,
            .private_data = keeper.get()};
  keeper.release();
}

bool have_same_types(const ArrowNode& a, const ArrowNode& b) {
  if (a.name != b.name || a.format != b.format || a.metadata != b.metadata ||
      a.children.size() != b.children.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (!have_same_types(a.children[i], b.children[i])) return false;
  }
  return true;
}

/// Copies a node without data. Only the types of a stream's first batch are kept.
ArrowNode types_of(const ArrowNode& node) {
  ArrowNode types{.name = node.name, .format = node.format, .metadata = node.metadata};
  for (const ArrowNode& child : node.children) types.children.push_back(types_of(child));
  return types;
}

class ArrowStream {
 public:
  explicit ArrowStream(std::function<std::optional<ColumnBatch>()> next) : next_(std::move(next)) {}

  static ArrowStream& of(ArrowArrayStream* stream) {
    return *static_cast<ArrowStream*>(stream->private_data);
  }
  void schema(ArrowSchema* out) {
    if (!types_) first_ = pull();
    fill_schema(types_ ? *types_ : batch_node(ColumnBatch()), out);
  }
  void next(ArrowArray* out) {
    const std::optional<ArrowNode> node = first_ ? std::exchange(first_, std::nullopt) : pull();
    if (node) {
      fill_array(*node, out);
    } else {
      *out = {};  // no release callback marks the end
    }
  }
  /// Runs `run`. Turns an exception into the last error and an errno code.
  template <class F>
  int guarded(F&& run) noexcept {
    try {
      run();
      return 0;
    } catch (const Error& error) {
      set_last_error(error.what());
      return error.code() == ErrorCode::invalid_argument     ? EINVAL
             : error.code() == ErrorCode::resource_exhausted ? ENOMEM
                                                             : EIO;
    } catch (const std::bad_alloc&) {
      set_last_error("there is no memory");
      return ENOMEM;
    } catch (const std::exception& error) {
      set_last_error(error.what());
      return EIO;
    } catch (...) {
      set_last_error("the source threw something that is no std::exception");
      return EIO;
    }
  }
  const char* last_error() const { return last_error_.empty() ? nullptr : last_error_.c_str(); }

 private:
  std::optional<ArrowNode> pull() {
    if (ended_) return std::nullopt;
    const std::optional<ColumnBatch> batch = next_();
    if (!batch) {
      ended_ = true;
      next_ = nullptr;
      return std::nullopt;
    }
    ArrowNode node = batch_node(*batch);
    const std::uint64_t number = batches_++;
    if (!types_) types_ = types_of(node);
    if (!have_same_types(*types_, node)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("batch {} has other names or types than the first; a stream of "
                              "Arrow's has one schema (a padded column needs a fixed width)",
                              number));
    }
    return node;
  }
  void set_last_error(const char* text) noexcept {
    try {
      last_error_ = text;
    } catch (...) {
      last_error_.clear();
    }
  }

  std::function<std::optional<ColumnBatch>()> next_;
  std::optional<ArrowNode> types_;
  std::optional<ArrowNode> first_;  ///< pulled for its types, not handed out yet
  std::uint64_t batches_ = 0;
  bool ended_ = false;
  std::string last_error_;
};

}  // namespace

void export_arrow(const ColumnBatch& batch, ArrowSchema* schema, ArrowArray* array) {
  const ArrowNode node = batch_node(batch);
  fill_schema(node, schema);
  try {
    fill_array(node, array);
  } catch (...) {
    schema->release(schema);
    throw;
  }
}

void export_arrow_stream(std::function<std::optional<ColumnBatch>()> next,
                         ArrowArrayStream* stream) {
  auto state = std::make_unique<ArrowStream>(std::move(next));
  stream->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    ArrowStream& of = ArrowStream::of(self);
    return of.guarded([&] { of.schema(out); });
  };
  stream->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    ArrowStream& of = ArrowStream::of(self);
    return of.guarded([&] { of.next(out); });
  };
  stream->get_last_error = [](ArrowArrayStream* self) {
    return ArrowStream::of(self).last_error();
  };
  stream->release = [](ArrowArrayStream* self) {
    delete &ArrowStream::of(self);
    self->release = nullptr;
  };
  stream->private_data = state.release();
}

}  // namespace infeed
