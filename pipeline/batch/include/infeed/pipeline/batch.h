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

namespace infeed {

/// Why: this is what a training step takes: `size()` rows as contiguous columns, each 64-byte
/// aligned. A number, an array or any other object is one column; a plain struct, pair or tuple is
/// one column a field, and one a field's field where it has some. (A member must not be a C array,
/// but a std::array; a struct with a base class has no columns.)
///
///     struct Sample { std::array<float, 784> image; std::int64_t label; };
///     void step(const infeed::Batch<Sample>& batch) {
///       std::span<const std::array<float, 784>> images = batch.column(&Sample::image);
///       std::span<const std::int64_t> labels = batch.column<1>();
///       // so images is a matrix [batch.size(), 784]
///     }
///
/// Of struct Shot { Sample sample; float weight; } they are column(&Shot::sample, &Sample::label) or
/// column<1>(), as the fields lie one behind the other.
///
/// Ownership: copies share the same memory, which is never changed again; it returns to a pool when
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

  /// Column I.
  template <std::size_t I>
  auto column() const {
    using Value = std::tuple_element_t<I, detail::LeafTypes<T>>;
    return std::span<const Value>(static_cast<const Value*>(storage_.column(I)), size());
  }
  /// The column of a struct's member; of a member that is a struct, that of its member, and so on.
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
  /// All elements of a batch that has one column.
  std::span<const T> values() const requires(detail::field_count<T>() == 0) { return column<0>(); }
  /// Element i of a batch that has one column.
  const T& operator[](std::size_t i) const requires(detail::field_count<T>() == 0) {
    return column<0>()[i];
  }
  /// A copy of row i.
  T row(std::size_t i) const {
    return detail::from_leaves<T>([&](auto leaf) -> const auto& {
      return column<decltype(leaf)::value>()[i];
    });
  }

  /// Bytes of its memory, payload of the elements included.
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
  /// Leaves out the last batch when it is short, so that every batch has the same size.
  bool drop_remainder = false;
  StageName name = {};  ///< as in StageOptions
};

/// Why: puts `size` consecutive elements into one Batch. An element that failed does not lose the
/// others: its error comes in its place, and the batch goes on filling with the elements behind it.
///
/// Vectors of numbers must be equally long within a batch, as in tf.data: otherwise one error with
/// both lengths comes in the batch's place, and its rows are lost. For vectors that differ there
/// are padded_batch, ragged_batch and bucket_by_sequence_length.
///
///     dataset | infeed::batch(1024, {.drop_remainder = true})
inline auto batch(std::int64_t size, BatchOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Throws invalid_argument for a size of less than 1, or of more than a batch can have.
std::size_t checked_batch_size(std::string_view stage, std::int64_t size, std::size_t row_bytes);

/// `out_type` is that of Batch<T>; its only member is a BatchReference.
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

// How they are written.
#include <infeed/pipeline/detail/batch_codec.h>
