#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/element_codec.h>
#include <infeed/pipeline/type_info.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/detail/column_bytes.h>

/// The engine's traits of ColumnBatch, for all stages that give one.
namespace infeed {

/// The payload of a batch is the memory that it keeps, which it may share with other batches.
template <>
struct Payload<ColumnBatch> {
  static std::size_t bytes(const ColumnBatch& batch) { return batch.held_bytes(); }
};
template <>
struct IsTriviallyRelocatable<ColumnBatch> : std::true_type {};

template <>
struct ElementHash<ColumnBatch> {
  static void add(const ColumnBatch& batch, OrderHash& hash) { hash.add(batch.hash()); }
};

template <>
struct ElementCodec<ColumnBatch> {
  static std::string layout() { return std::string(detail::kColumnBytesLayout); }
  static void encode(const ColumnBatch& batch, std::string& out) {
    const std::size_t begin = out.size();
    detail::append_count(out, 0);
    detail::encode_columns(batch, out);
    const std::uint64_t size = out.size() - begin - sizeof(std::uint64_t);
    std::memcpy(out.data() + begin, &size, sizeof(size));
  }
  static ColumnBatch decode(ElementReader& in) {
    return detail::decode_columns(in.bytes(in.count(1)));
  }
};

}  // namespace infeed
