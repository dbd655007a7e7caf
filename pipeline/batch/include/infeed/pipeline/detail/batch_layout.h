#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/column_number.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/type_info.h>

/// Lays rows out as columns, in memory that is counted.
namespace infeed::detail {

/// The layout of a row type as columns; one per type, static.
struct BatchLayout {
  struct Column {
    std::size_t offset;  ///< place of the field within the row
    const TypeInfo* type;
    /// Returns the length of the vector at a place; null for columns of other types.
    std::size_t (*length)(const void* at) = nullptr;
  };
  const TypeInfo* row;
  std::vector<Column> columns;
  bool is_struct;  ///< false: one column of whole elements
};

/// The memory of one batch: all columns in one block, each 64-byte aligned. It comes from a pool,
/// and goes back there when the last Batch that shows it is gone.
class BatchStorage;
class BatchPool;

/// A counted reference to a BatchStorage. It has 8 bytes; any thread may drop it.
class BatchReference {
 public:
  BatchReference() = default;
  explicit BatchReference(BatchStorage* adopted) : storage_(adopted) {}
  BatchReference(const BatchReference& other) noexcept;
  BatchReference(BatchReference&& other) noexcept
      : storage_(std::exchange(other.storage_, nullptr)) {}
  BatchReference& operator=(BatchReference other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~BatchReference();

  BatchStorage* get() const { return storage_; }
  std::size_t size() const;
  void* column(std::size_t index) const;
  std::size_t bytes() const;

 private:
  BatchStorage* storage_ = nullptr;
};

/// True for vectors of numbers, which a training step wants as a tensor. Strings and vectors of
/// objects may differ in length.
template <class T>
inline constexpr bool kIsNumberVector = false;
template <class T, class A>
inline constexpr bool kIsNumberVector<std::vector<T, A>> = kIsColumnNumber<T>;

template <class T>
constexpr auto length_function() -> std::size_t (*)(const void*) {
  if constexpr (kIsNumberVector<T>) {
    return [](const void* at) { return static_cast<const T*>(at)->size(); };
  } else {
    return nullptr;
  }
}

template <class T, std::size_t... I>
std::vector<BatchLayout::Column> struct_columns(std::index_sequence<I...>) {
  // The addresses of leaves are taken at a place where no object lives; nothing is read.
  alignas(T) static std::byte place[sizeof(T)];
  T& row = *std::launder(reinterpret_cast<T*>(place));
  const auto leaves = tie_leaves(row);
  return {BatchLayout::Column{
      static_cast<std::size_t>(reinterpret_cast<std::byte*>(std::addressof(std::get<I>(leaves))) -
                               place),
      &type_info<std::tuple_element_t<I, LeafTypes<T>>>(),
      length_function<std::tuple_element_t<I, LeafTypes<T>>>()}...};
}

template <class T>
const BatchLayout& batch_layout() {
  static const BatchLayout layout = [] {
    if constexpr (kHasFields<T>) {
      return BatchLayout{&type_info<T>(),
                         struct_columns<T>(std::make_index_sequence<leaf_count<T>()>()), true};
    } else {
      return BatchLayout{&type_info<T>(), {{0, &type_info<T>(), length_function<T>()}}, false};
    }
  }();
  return layout;
}

/// Returns true if require_columns() refuses the row.
template <class Row>
constexpr bool has_no_columns() {
  if constexpr (PlainStruct<Row>) {
    return has_c_array<Row>() || has_base_class<Row>();
  } else {
    return false;
  }
}

/// Refuses rows that look as if they had a column for each field, but have none.
template <class Row>
constexpr void require_columns() {
  if constexpr (PlainStruct<Row>) {
    static_assert(!has_c_array<Row>(),
                  "infeed: a member of the batch's Row is a C array, which can't be a column: make "
                  "it a std::array");
    static_assert(!has_base_class<Row>(),
                  "infeed: the batch's Row has a base class, whose members can't be columns: put "
                  "them into the struct itself, or map to a struct, std::pair or std::tuple first");
  }
}

/// Returns the column of a struct's member, or of a member of a member.
template <class T, class... Path>
std::size_t column_index(Path... path) {
  static_assert(!kHasFields<MemberAt<T, Path...>>,
                "infeed: this member is a struct whose own members are the columns: name one of "
                "them, too, as in column(&Sample::camera, &Camera::iso)");
  alignas(T) static std::byte place[sizeof(T)];
  const T& row = *std::launder(reinterpret_cast<const T*>(place));
  const auto offset = static_cast<std::size_t>(
      reinterpret_cast<const std::byte*>(std::addressof(member_at(row, path...))) - place);
  const std::vector<BatchLayout::Column>& columns = batch_layout<T>().columns;
  std::size_t index = 0;
  while (columns[index].offset != offset) ++index;
  return index;
}

}  // namespace infeed::detail
