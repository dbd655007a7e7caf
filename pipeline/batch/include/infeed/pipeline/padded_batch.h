#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/pipeline/detail/grouping.h>
#include <infeed/pipeline/sequence_batch.h>

namespace infeed {

struct PaddedBatchOptions {
  /// One width per sequence field of the row, in order: a fixed width, or -1 for the longest of the
  /// batch. If empty, all are -1. A sequence longer than a fixed width is an element's error in its
  /// row's place.
  std::vector<std::int64_t> widths = {};
  /// The value that fills up sequences of numbers. All of them must be able to hold it. Other
  /// sequences are filled with U{}.
  double padding = 0;
  /// One padding per sequence field, in order: for example tokens with 0 and targets with -100. If
  /// empty, all have `padding`.
  std::vector<double> paddings = {};
  /// Leaves out the last batch if it is short.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Puts `size` consecutive sequences of different lengths into one PaddedBatch.
///
///     sentences | infeed::padded_batch(32, {.padding = -1})
///
/// A failed element, and one that is longer than a fixed width, is an error in its place. It loses
/// no others: the batch fills with the elements after it.
inline auto padded_batch(std::int64_t size, PaddedBatchOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class T>
std::vector<bool> sequence_fields() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<bool>{kIsSequenceField<std::tuple_element_t<I, LeafTypes<T>>>...};
  }
  (std::make_index_sequence<leaf_count<T>()>());
}

/// Returns the paddings of all fields; those that aren't sequences have none. The arguments come
/// from PaddedBatchOptions or similar options. Throws Error(invalid_argument).
std::vector<PaddingOfField> paddings_of(std::string_view stage,
                                        const std::vector<std::int64_t>& widths, double padding,
                                        const std::vector<double>& paddings,
                                        const std::vector<bool>& is_sequence);
[[noreturn]] void refuse_padding(std::string_view stage, double padding, std::size_t sequence,
                                 std::string_view numbers, std::size_t value_bytes);

/// `sequence` is the number of the row's sequences that were checked before.
template <class Field>
void check_padding(std::string_view stage, const PaddingOfField& padding, std::size_t& sequence) {
  if constexpr (kIsSequenceField<Field>) {
    using U = typename Field::value_type;
    if (!holds_padding<U>(padding.value)) {
      constexpr std::string_view kNumbers = !std::is_integral_v<U> ? "floats"
                                            : std::is_signed_v<U>  ? "signed whole numbers"
                                                                   : "unsigned whole numbers";
      refuse_padding(stage, padding.value, sequence, kNumbers, sizeof(U));
    }
    ++sequence;
  }
}

template <class T>
std::vector<PaddingOfField> paddings_of(std::string_view stage, const auto& options) {
  auto paddings =
      paddings_of(stage, options.widths, options.padding, options.paddings, sequence_fields<T>());
  for (PaddingOfField& field : paddings) field.memory = options.memory;
  std::size_t sequence = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (check_padding<std::tuple_element_t<I, LeafTypes<T>>>(stage, paddings[I], sequence), ...);
  }
  (std::make_index_sequence<leaf_count<T>()>());
  return paddings;
}
/// Returns ", widths=[...]" for a signature.
std::string padding_signature(const std::vector<std::int64_t>& widths, double padding,
                              const std::vector<double>& paddings);
std::string padded_batch_signature(std::int64_t size, const PaddedBatchOptions& options);
struct PaddedBatchContext {
  std::int64_t size;
  std::vector<PaddingOfField> paddings;
};

template <class T>
void check_padded_row(const void* context, std::int64_t, const void* row) {
  check_widths("padded_batch", *static_cast<const T*>(row),
               static_cast<const PaddedBatchContext*>(context)->paddings.data());
}

/// Returns the bytes of a field's rows once all are as wide as the longest, or as the fixed width.
template <class T>
std::uint64_t padded_bytes(const std::vector<PaddingOfField>& paddings, const void* rows,
                           std::size_t count) {
  std::array<std::uint64_t, leaf_count<T>()> widths{};
  std::array<std::size_t, leaf_count<T>()> value_bytes{};
  for (std::size_t row = 0; row < count; ++row) {
    std::size_t i = 0;
    const auto note = [&](const auto& field) {
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (kIsSequenceField<Field>) {
        widths[i] = std::max<std::uint64_t>(widths[i], field.size());
        value_bytes[i] = sizeof(typename Field::value_type);
      } else {
        widths[i] = 1;
        value_bytes[i] = sizeof(Field);
      }
      ++i;
    };
    std::apply([&](const auto&... field) { (note(field), ...); },
               tie_leaves(static_cast<const T*>(rows)[row]));
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::int64_t fixed = paddings[i].width;
    bytes += count * value_bytes[i] * (fixed < 0 ? widths[i] : static_cast<std::uint64_t>(fixed));
  }
  return bytes;
}

template <class T>
std::uint64_t padded_batch_bytes(const void* context, std::int64_t, const void* rows,
                                 std::size_t count) {
  return padded_bytes<T>(static_cast<const PaddedBatchContext*>(context)->paddings, rows, count);
}

template <class Out>
void assemble_sequence_batch(const void* context, std::int64_t, void* rows, std::size_t count,
                             void* out) {
  using T = typename Out::row_type;
  ::new (out) Out(std::span<T>(static_cast<T*>(rows), count),
                  static_cast<const PaddedBatchContext*>(context)->paddings);
}

template <class Out>
Dataset<Out> group_sequences(GroupingSpec spec, PaddedBatchContext context, NodePointer input) {
  spec.out_type = &type_info<Out>();
  spec.size = [](const void* shared, std::int64_t) {
    return static_cast<const PaddedBatchContext*>(shared)->size;
  };
  spec.assemble = &assemble_sequence_batch<Out>;
  spec.context = std::make_shared<const PaddedBatchContext>(std::move(context));
  return Dataset<Out>(make_grouping(std::move(spec), std::move(input)));
}

struct PaddedBatchStageFactory {
  using ComposesAsStage = void;
  std::int64_t size;
  PaddedBatchOptions options;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    require_columns<T>();
    static_assert(sequence_count<T>() > 0 || has_no_columns<T>(),
                  "infeed::padded_batch: the elements must be std::vectors, or structs, pairs or "
                  "tuples with a std::vector among their fields; for others use infeed::batch");
    if constexpr (sequence_count<T>() == 0) {
      return refused();
    } else {
      GroupingSpec spec{.name = "padded_batch", .signature = padded_batch_signature(size, options)};
      spec.drop_remainder = options.drop_remainder;
      PaddedBatchContext context{size, paddings_of<T>("padded_batch", options)};
      for (const PaddingOfField& padding : context.paddings) {
        if (padding.width >= 0) spec.check = &check_padded_row<T>;
      }
      spec.assembled_bytes = &padded_batch_bytes<T>;
      return group_sequences<PaddedBatch<T>>(std::move(spec), std::move(context), input.node());
    }
  }
};

}  // namespace detail

inline auto padded_batch(std::int64_t size, PaddedBatchOptions options) {
  return named_stage(options.name, detail::PaddedBatchStageFactory{size, options});
}

}  // namespace infeed
