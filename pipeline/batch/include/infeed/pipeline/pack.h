#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/detail/column_number.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/member_names.h>
#include <infeed/records/batch_memory.h>

namespace infeed {

/// A column of documents, and how it is packed.
struct PackedColumn {
  std::string name;
  std::int64_t length = 0;  ///< items in a row; 0: PackOptions::length
  double padding = 0;       ///< fills rows up
};

struct PackOptions {
  /// Items in a row.
  std::int64_t length = 0;
  /// The number of last begun rows that may still take documents. A larger window wastes less room,
  /// holds more memory, and may move a document further.
  std::int64_t window = 64;
  enum class TooLong : std::uint8_t {
    split,     ///< into documents of a row's length and the rest
    truncate,  ///< to a row's length; the stage counts lost items as "dropped_items"
    fail,      ///< with an element's error in its place
  };
  TooLong too_long = TooLong::split;
  /// For structs: a name for each member, in order; if empty, the members' own names. For
  /// ColumnBatches: the columns to pack; if empty, all of them.
  std::vector<PackedColumn> columns = {};
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Why: language models train on rows of one length, but documents have any length. Padding wastes
/// half of the accelerator. Packing puts several documents into a row and says where each one is.
///
///     struct Document { std::vector<std::int32_t> tokens; std::vector<std::int32_t> targets; };
///     void train(const infeed::Dataset<Document>& documents) {
///       for (const infeed::ColumnBatch& rows :
///            (documents | infeed::pack(8, {.length = 2048})).iterate()) {
///         std::span<const std::int32_t> tokens = rows.column("tokens").values<std::int32_t>();
///       }
///     }
///
/// The batches are ColumnBatches of `rows` rows. For each sequence, such as "tokens", they have
/// three columns [rows, length]:
/// | tokens             | the documents one after the other, then padding                        |
/// | tokens_segment_ids | int32: 1 for the row's first document, 2 for the next, ..., 0: padding |
/// | tokens_positions   | int32: 0, 1, ... within each document; 0 in padding                    |
///
/// First fit: a document goes to the first of the last `window` rows that has room for all of its
/// sequences, else to a new row. Rows come in the order in which they were begun, and the documents
/// in a row in input order, for any number of threads. Nothing is lost. Documents without items
/// take no place. StageStatistics::count() of "held_items" and "room_items" tells how much of the
/// closed rows is filled.
///
/// Elements may be std::vectors of numbers, structs whose members (at any depth) are such vectors,
/// or ColumnBatches of ragged columns (parse_columns, json_lines), where each row is a document.
///
/// An element's error comes at once and loses no document. Throws invalid_argument for bad options
/// when the stage is described. Memory: window + rows rows.
inline auto pack(Count rows, PackOptions options);

// Only the library reads what follows.
namespace detail {

/// A sequence of one document.
struct PackValues {
  const void* data = nullptr;
  std::size_t count = 0;
};

/// Reads elements that are documents. Empty for ColumnBatches.
struct PackInput {
  PackValues (*values)(const void* element, std::size_t column) = nullptr;
  std::vector<DType> dtypes = {};
  std::vector<std::string> names = {};  ///< the members' own names; empty if unknown
};

/// Throws invalid_argument.
NodePointer make_pack(std::int64_t rows, PackOptions options, PackInput documents,
                      NodePointer input);

template <class T>
inline constexpr bool kIsPackable = false;
template <class U, class A>
inline constexpr bool kIsPackable<std::vector<U, A>> =
    kIsColumnNumber<U> && !std::is_same_v<U, bool>;

template <class Leaves>
inline constexpr bool kAllPackable = false;
template <class... Leaf>
inline constexpr bool kAllPackable<std::tuple<Leaf...>> = (kIsPackable<Leaf> && ...);

template <class T>
PackInput pack_input() {
  PackInput input{};
  if constexpr (kHasMemberNames) input.names = member_names<T>();
  input.values = [](const void* element, std::size_t column) {
    PackValues found;
    std::size_t i = 0;
    std::apply(
        [&](const auto&... leaf) {
          ((i++ == column ? void(found = {leaf.data(), leaf.size()}) : void()), ...);
        },
        tie_leaves(*static_cast<const T*>(element)));
    return found;
  };
  [&]<class... Leaf>(std::type_identity<std::tuple<Leaf...>>) {
    input.dtypes = {dtype_of<typename Leaf::value_type>()...};
  }(std::type_identity<LeafTypes<T>>());
  return input;
}
struct PackStageFactory {
  using ComposesAsStage = void;
  std::int64_t rows;
  PackOptions options;

  template <class T>
  Dataset<ColumnBatch> operator()(const Dataset<T>& input) const {
    constexpr bool kIsColumns = std::is_same_v<T, ColumnBatch>;
    if constexpr (kIsColumns) {
      return Dataset<ColumnBatch>(make_pack(rows, options, {}, input.node()));
    } else {
      constexpr bool kFits = kAllPackable<LeafTypes<T>>;
      static_assert(
          kFits,
          "infeed::pack: the dataset's Element must be a std::vector of numbers, a struct "
          "of nothing but them, or an infeed::ColumnBatch: map to what is to be packed");
      if constexpr (kFits) {
        return Dataset<ColumnBatch>(make_pack(rows, options, pack_input<T>(), input.node()));
      } else {
        return refused<ColumnBatch>();
      }
    }
  }
};

}  // namespace detail

inline auto pack(Count rows, PackOptions options) {
  StageName name = options.name;  // the options move in the same call
  return named_stage(std::move(name), detail::PackStageFactory{rows.value(), std::move(options)});
}

}  // namespace infeed
