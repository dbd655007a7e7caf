#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <infeed/pipeline/detail/elementwise.h>

/// The shared part of padded_batch, ragged_batch, group_by_window and bucket_by_sequence_length: a
/// stage that collects elements, in groups by a key, and makes one output of each full group. Not
/// for direct use: see the stages' own headers.
namespace infeed::detail {

struct GroupingSpec {
  std::string name;
  std::string signature;
  const TypeInfo* out_type = nullptr;
  /// First argument of the functions below.
  std::shared_ptr<const void> context = nullptr;

  /// Returns the element's group; null: there is one group. Its exception takes the element's
  /// place.
  std::int64_t (*key)(const void* context, const void* element) = nullptr;
  /// Returns the number of elements of a full group; called once per key. 0 or less is an error in
  /// the element's place.
  std::int64_t (*size)(const void* context, std::int64_t key) = nullptr;
  /// Throws if the element can't be in its group. The exception takes the element's place. Null:
  /// every element is accepted.
  void (*check)(const void* context, std::int64_t key, const void* element) = nullptr;
  /// Makes an output of `count` rows, which it may leave moved-from. Its exception takes the
  /// output's place.
  void (*assemble)(const void* context, std::int64_t key, void* rows, std::size_t count,
                   void* out) = nullptr;
  /// Returns the bytes of the output of these rows, which the stage then reserves before it makes
  /// the output. Null if the output has no more bytes than the rows.
  std::uint64_t (*assembled_bytes)(const void* context, std::int64_t key, const void* rows,
                                   std::size_t count) = nullptr;
  bool drop_remainder = false;  ///< leaves out groups that aren't full at the end
};

NodePointer make_grouping(GroupingSpec spec, NodePointer input);

}  // namespace infeed::detail
