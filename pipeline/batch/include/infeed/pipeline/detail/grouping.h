#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <infeed/pipeline/detail/elementwise.h>

/// What padded_batch, ragged_batch, group_by_window and bucket_by_sequence_length share: a stage
/// that collects elements, in groups by a key, and makes one output of each full group. Not meant
/// to be used directly: see the stages' own headers.
namespace infeed::detail {

struct GroupingSpec {
  std::string name;
  std::string signature;
  const TypeInfo* out_type = nullptr;
  /// What the functions below are given first.
  std::shared_ptr<const void> context = nullptr;

  /// The element's group; null: there is one group. What it throws takes the element's place.
  std::int64_t (*key)(const void* context, const void* element) = nullptr;
  /// Elements of a full group; asked once a key. 0 or less is an error in the element's place.
  std::int64_t (*size)(const void* context, std::int64_t key) = nullptr;
  /// Throws when the element can't be in its group: that takes its place. Null: none is refused.
  void (*check)(const void* context, std::int64_t key, const void* element) = nullptr;
  /// Makes an output of `count` rows, which it may leave moved-from. What it throws takes the
  /// output's place.
  void (*assemble)(const void* context, std::int64_t key, void* rows, std::size_t count,
                   void* out) = nullptr;
  /// Bytes of the output of these rows, which the stage then reserves before it makes it. Null where
  /// it has no more than they have.
  std::uint64_t (*assembled_bytes)(const void* context, std::int64_t key, const void* rows,
                                   std::size_t count) = nullptr;
  bool drop_remainder = false;  ///< of groups that are not full at the end
};

NodePointer make_grouping(GroupingSpec spec, NodePointer input);

}  // namespace infeed::detail
