#include "train/graph_memory.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace infeed::detail {
namespace {

struct Buffer {
  std::int64_t bytes = 0;
  std::int32_t begin = 0;  ///< kernels of the step, forward and backward, first and last
  std::int32_t end = 0;
  std::int64_t offset = 0;

  bool lives_with(const Buffer& other) const { return begin <= other.end && other.begin <= end; }
  std::int64_t behind() const { return offset + bytes; }
};

std::int64_t lowest_free(const Buffer& buffer, const std::vector<Buffer>& placed) {
  std::vector<Buffer> in_the_way;
  for (const Buffer& other : placed) {
    if (buffer.lives_with(other)) in_the_way.push_back(other);
  }
  std::ranges::sort(in_the_way, {}, &Buffer::offset);
  std::int64_t offset = 0;
  for (const Buffer& other : in_the_way) {
    if (offset + buffer.bytes <= other.offset) break;
    offset = std::max(offset, other.behind());
  }
  return offset;
}

std::int64_t bytes_planned(std::vector<Buffer> buffers) {
  std::ranges::stable_sort(buffers, std::ranges::greater{}, &Buffer::bytes);
  std::vector<Buffer> placed;
  std::int64_t bytes = 0;
  for (Buffer& buffer : buffers) {
    buffer.offset = lowest_free(buffer, placed);
    bytes = std::max(bytes, buffer.behind());
    placed.push_back(buffer);
  }
  return bytes;
}

}  // namespace

GraphMemory graph_memory(std::span<const GraphOperation> operations, std::int32_t kernels,
                         std::int64_t bytes_of_value) {
  GraphMemory memory;
  const auto count = static_cast<std::size_t>(kernels);
  std::vector<std::int64_t> bytes(count);
  std::vector<std::int32_t> last_readers(count);
  for (std::int32_t kernel = 0; kernel < kernels; ++kernel) {
    last_readers[static_cast<std::size_t>(kernel)] = kernel;
  }
  for (const GraphOperation& operation : operations) {
    const std::int64_t of_operation = operation.output.items() * bytes_of_value;
    memory.eager_bytes += 2 * of_operation;  // and the gradient
    if (operation.kernel < 0) continue;
    bytes[static_cast<std::size_t>(operation.kernel)] = of_operation;  // the last one's
    for (const std::int32_t input : operation.inputs) {
      const std::int32_t kernel = operations[static_cast<std::size_t>(input)].kernel;
      std::int32_t& last = last_readers[static_cast<std::size_t>(kernel)];
      last = std::max(last, operation.kernel);
    }
  }
  std::vector<Buffer> buffers;
  const auto backward_of = [&](std::int32_t kernel) { return 2 * kernels - 1 - kernel; };
  for (std::int32_t kernel = 0; kernel < kernels; ++kernel) {
    const auto k = static_cast<std::size_t>(kernel);
    buffers.push_back({.bytes = bytes[k], .begin = kernel, .end = backward_of(kernel)});
    buffers.push_back(
        {.bytes = bytes[k], .begin = backward_of(last_readers[k]), .end = backward_of(kernel)});
  }
  memory.planned_bytes = bytes_planned(std::move(buffers));
  return memory;
}

}  // namespace infeed::detail
