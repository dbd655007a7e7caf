#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/batch_layout.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/records/batch_memory.h>

namespace infeed {

/// Why: a training step takes `size()` rows as contiguous columns, each 64-byte aligned. A number,
/// an array or any other object is one column. A plain struct, pair or tuple is one column per
/// field; a field that has fields itself is one column for each of those. (A member must be a
/// std::array, not a C array; a struct with a base class has no columns.)
///
///     struct Sample { std::array<float, 784> image; std::int64_t label; };
///     void step(const infeed::Batch<Sample>& batch) {
///       std::span<const std::array<float, 784>> images = batch.column(&Sample::image);
///       std::span<const std::int64_t> labels = batch.column<1>();
///       // so images is a matrix [batch.size(), 784]
///     }
///
/// The columns of struct Shot { Sample sample; float weight; } are numbered across all fields:
/// column<1>() is column(&Shot::sample, &Sample::label).
///
/// Ownership: copies share the same memory, which never changes again. It returns to a pool when
/// the last copy is gone. Thread-safety: any thread may read and drop copies.
template <class T>
class Batch {
 public:
  using row_type = T;
  static constexpr std::size_t kColumns = detail::leaf_count<T>();

  Batch() = default;
  explicit Batch(detail::BatchReference storage) : storage_(std::move(storage)) {}

  std::size_t size() const { return storage_.size(); }
  bool empty() const { return size() == 0; }

  /// Returns column I.
  template <std::size_t I>
  auto column() const {
    using Value = std::tuple_element_t<I, detail::LeafTypes<T>>;
    return std::span<const Value>(static_cast<const Value*>(storage_.column(I)), size());
  }
  /// Returns the column of a struct's member. If the member is a struct, name a member of that
  /// next, and so on.
  template <class Member, class Owner, class... Inner>
  auto column(Member Owner::*member, Inner... inner) const {
    static_assert(std::is_same_v<Owner, T>, "infeed::Batch: the member belongs to another struct");
    static_assert(detail::field_count<T>() > 0,
                  "infeed::Batch: only a plain struct of up to 64 members has a column for each; "
                  "this row is one column of whole objects: use values()");
    using Value = detail::MemberAt<T, Member Owner::*, Inner...>;
    const std::size_t index = detail::column_index<T>(member, inner...);
    return std::span<const Value>(static_cast<const Value*>(storage_.column(index)), size());
  }
  /// Returns all elements of a batch that has one column.
  std::span<const T> values() const requires(detail::field_count<T>() == 0) { return column<0>(); }
  /// Returns element i of a batch that has one column.
  const T& operator[](std::size_t i) const requires(detail::field_count<T>() == 0) {
    return column<0>()[i];
  }
  /// Returns a copy of row i.
  T row(std::size_t i) const {
    return detail::from_leaves<T>([&](auto leaf) -> const auto& {
      return column<decltype(leaf)::value>()[i];
    });
  }

  /// Returns the bytes of the batch's memory, payload of the elements included.
  std::size_t bytes() const { return storage_.bytes(); }
  const detail::BatchReference& storage() const { return storage_; }

 private:
  detail::BatchReference storage_;
};

template <class T>
struct IsTriviallyRelocatable<Batch<T>> : std::true_type {};
template <class T>
struct Payload<Batch<T>> {
  static std::size_t bytes(const Batch<T>& batch) { return batch.bytes(); }
};

struct BatchOptions {
  /// Leaves out the last batch if it is short, so that every batch has the same size.
  bool drop_remainder = false;
  /// Memory that batches lie in; null: the system's (records/batch_memory.h).
  BatchMemory memory = nullptr;
  StageName name = {};  ///< as in StageOptions
};

/// Puts `size` consecutive elements into one Batch. A failed element doesn't lose the others: its
/// error takes its place, and the batch fills with the elements after it.
///
/// Vectors of numbers must be equally long within a batch, as in tf.data. Otherwise one error with
/// both lengths takes the batch's place, and the batch's rows are lost. For vectors of different
/// lengths use padded_batch, ragged_batch or bucket_by_sequence_length.
///
///     dataset | infeed::batch(1024, {.drop_remainder = true})
inline auto batch(std::int64_t size, BatchOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Throws invalid_argument if the size is less than 1, or more than a batch can have.
std::size_t checked_batch_size(std::string_view stage, std::int64_t size, std::size_t row_bytes);

/// `out_type` is the type of Batch<T>, whose only member is a BatchReference.
NodePointer make_batch(std::int64_t size, const BatchOptions& options, const BatchLayout& layout,
                       const TypeInfo& out_type, NodePointer input);

struct BatchStageFactory {
  using ComposesAsStage = void;
  std::int64_t size;
  BatchOptions options;

  template <class T>
  Dataset<Batch<T>> operator()(const Dataset<T>& input) const {
    static_assert(sizeof(Batch<T>) == sizeof(BatchReference));
    require_columns<T>();
    return Dataset<Batch<T>>(
        make_batch(size, options, batch_layout<T>(), type_info<Batch<T>>(), input.node()));
  }
};

}  // namespace detail

inline auto batch(std::int64_t size, BatchOptions options) {
  return named_stage(options.name, detail::BatchStageFactory{size, options});
}

}  // namespace infeed

// The codec and the hash of batches.
#include <infeed/pipeline/detail/batch_codec.h>
