#include "infeed/detail/large_memory.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "infeed/detail/current_core.h"

namespace infeed::detail {
namespace {

TEST(LargeMemory, ValuesAreCopiedWhereverTheyLie) {
  constexpr std::size_t kMargin = 128;
  std::vector<std::byte> from(5000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (std::size_t to_offset = 0; to_offset < 65; ++to_offset) {
    for (const std::size_t size : {64U, 65U, 127U, 128U, 129U, 191U, 192U, 1000U, 4096U, 4097U}) {
      const std::size_t from_offset = (to_offset * 5 + size) % 67;
      std::vector<std::byte> to(kMargin + size + kMargin, std::byte{0xee});
      std::byte* const place = to.data() + kMargin / 2 + to_offset;
      copy_large_value(place, from.data() + from_offset, size);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t at = i - (kMargin / 2 + to_offset);  // wraps before the value
        ASSERT_EQ(to[i], at < size ? from[from_offset + at] : std::byte{0xee})
            << size << " bytes at " << to_offset << ", byte " << i;
      }
    }
  }
}

TEST(LargeMemory, BlocksOfAnySizeAreAlignedAndCanBeWritten) {
  for (const std::size_t bytes :
       {std::size_t{64}, (std::size_t{256} << 10) - 1, std::size_t{256} << 10,
        (std::size_t{4} << 20) - 1, std::size_t{4} << 20, (std::size_t{32} << 20) - 1,
        std::size_t{32} << 20}) {
    for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}}) {
      std::byte* const memory = allocate_block_memory(bytes, alignment);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0U) << bytes;
      memory[0] = std::byte{1};
      memory[bytes - 1] = std::byte{2};
      free_block_memory(memory, bytes, alignment);
    }
  }
  EXPECT_GE(current_core(), 0);
}

}  // namespace
}  // namespace infeed::detail
