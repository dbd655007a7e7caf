#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "memory/block.h"
#include "records/on_core.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kBytes = 4096;

/// Takes one block on each of two cores, in this order, and gives both back.
std::vector<Block*> have_had(BlockPool& pool) {
  std::vector<Block*> blocks;
  for (const int core : test::two_cores()) {
    test::on_core(core, [&] { blocks.push_back(pool.take(kBytes)); });
  }
  for (Block* const block : blocks) drop_block(block);
  return blocks;
}

std::vector<Block*> taken_by_core_0(BlockPool& pool, int count) {
  std::vector<Block*> blocks;
  test::on_core(test::two_cores()[0], [&] {
    for (int i = 0; i < count; ++i) blocks.push_back(pool.take(kBytes));
  });
  for (Block* const block : blocks) drop_block(block);
  return blocks;
}

TEST(BlockPool, a_core_gets_what_it_had_and_else_what_the_other_had) {
  const auto pool = std::make_shared<BlockPool>("x");
  const std::vector<Block*> blocks = have_had(*pool);
  EXPECT_EQ(taken_by_core_0(*pool, 2), test::as_core_0_gets(blocks));
}

TEST(BlockPool, spare_blocks_go_to_the_core_that_had_them) {
  const auto spare = std::make_shared<SpareBlocks>(64 * kBytes);
  std::vector<Block*> blocks;
  {
    const auto gone = std::make_shared<BlockPool>("x", FreeBlocks{}, spare);
    blocks = have_had(*gone);
  }
  const auto pool = std::make_shared<BlockPool>("y", FreeBlocks{}, spare);
  EXPECT_EQ(taken_by_core_0(*pool, 2), test::as_core_0_gets(blocks));
}

TEST(BlockPool, keeps_one_block_and_more_while_their_bytes_suffice) {
  const auto blocks_kept = [](std::size_t bytes_max) {
    const auto pool = std::make_shared<BlockPool>("x", FreeBlocks{.bytes_max = bytes_max});
    std::vector<Block*> out;
    for (int i = 0; i < 4; ++i) out.push_back(pool->take(kBytes));
    for (Block* const block : out) drop_block(block);
    return pool->free_blocks();
  };
  EXPECT_EQ(blocks_kept(SIZE_MAX), 4U);
  EXPECT_EQ(blocks_kept(3 * kBytes), 3U);
  EXPECT_EQ(blocks_kept(kBytes / 2), 1U);
}

TEST(BlockPool, a_detached_record_keeps_its_place_and_not_the_pool) {
  auto pool = std::make_shared<BlockPool>("x");
  const std::weak_ptr<BlockPool> is_there = pool;
  Block* const block = pool->take(kBytes);
  block->data[100] = 'a';
  block->stream_offset = 5000;
  Record record = Record::adopt(block, {block->data + 100, 1}, 7);
  const Record kept = record.detached();
  pool = nullptr;
  EXPECT_FALSE(is_there.expired());  // the block is out
  record = Record();
  EXPECT_TRUE(is_there.expired());
  EXPECT_EQ(kept.bytes(), "a");
  EXPECT_EQ(kept.file(), "x");
  EXPECT_EQ(kept.number(), 7U);
  EXPECT_EQ(kept.offset(), 5100U);
  EXPECT_EQ(kept.detached().file(), "x");
}

TEST(BlockPool, a_detached_record_without_bytes_keeps_its_place) {
  const auto pool = std::make_shared<BlockPool>("x");
  Block* const block = pool->take(kBytes);
  block->stream_offset = 5000;
  const Record kept = Record::adopt(block, {block->data + 100, 0}, 7).detached();
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(kept.file(), "x");
  EXPECT_EQ(kept.number(), 7U);
  EXPECT_EQ(kept.offset(), 5100U);
  EXPECT_EQ(Record().detached().file(), "");
}

}  // namespace
}  // namespace infeed::detail
