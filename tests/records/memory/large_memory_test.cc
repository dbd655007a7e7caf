#include "infeed/detail/large_memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "infeed/detail/current_core.h"
#include "records/on_core.h"

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
}

constexpr std::size_t kHugePage = std::size_t{2} << 20;

bool is_at_huge_page(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % kHugePage == 0;
}

TEST(LargeMemory, BlocksOfTwoHugePagesBeginAtOne) {
  std::byte* const large = allocate_block_memory(2 * kHugePage, 64);
  EXPECT_TRUE(is_at_huge_page(large));
  free_block_memory(large, 2 * kHugePage, 64);
  // Small blocks lie close together, so they can't all begin at a huge page.
  std::array<std::byte*, 4> small{};
  for (std::byte*& block : small) block = allocate_block_memory(64, 64);
  EXPECT_FALSE(std::all_of(small.begin(), small.end(), is_at_huge_page));
  for (std::byte* const block : small) free_block_memory(block, 64, 64);
}

/// Counts the whole pages of a block that are in memory, though the block itself may be gone.
std::size_t pages_in_memory(const std::byte* block, std::size_t bytes) {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  std::size_t pages = 0;
  for (std::uintptr_t page = (begin + page_bytes - 1) / page_bytes * page_bytes;
       page + page_bytes <= begin + bytes; page += page_bytes) {
    unsigned char is_there = 0;
    if (::mincore(reinterpret_cast<void*>(page), page_bytes, &is_there) == 0) {
      pages += is_there & 1U;
    }
  }
  return pages;
}

TEST(LargeMemory, PagesOfAFreedBlockGoBackToTheSystemAndNoOthers) {
  // The C library maps blocks one by one up to the size of the largest that was freed. So it takes
  // those that follow from its heap, side by side.
  constexpr std::size_t kLargestBytes = std::size_t{16} << 20;
  free_block_memory(allocate_block_memory(kLargestBytes, 64), kLargestBytes, 64);
  constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  std::array<std::byte*, 5> blocks{};
  for (std::byte*& block : blocks) {
    block = allocate_block_memory(kBlockBytes, 64);
    std::fill_n(block, kBlockBytes, std::byte{7});
  }
  for (const std::size_t freed : {1, 3}) {
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_GE(pages_in_memory(blocks[freed], kBlockBytes), kBlockBytes / page_bytes - 1);
    free_block_memory(blocks[freed], kBlockBytes, 64);
    EXPECT_LE(pages_in_memory(blocks[freed], kBlockBytes), 1U)
        << "the allocator may write to the first";
  }
  for (const std::size_t kept : {0, 2, 4}) {
    EXPECT_TRUE(std::all_of(blocks[kept], blocks[kept] + kBlockBytes, [](std::byte byte) {
      return byte == std::byte{7};
    })) << kept;
    free_block_memory(blocks[kept], kBlockBytes, 64);
  }
}

TEST(CurrentCore, IsTheOneThatRunsTheThread) {
  for (const int core : test::allowed_cores()) {
    test::on_core(core, [core] { EXPECT_EQ(current_core(), core); });
  }
  EXPECT_GE(current_core(), 0);
}

}  // namespace
}  // namespace infeed::detail
