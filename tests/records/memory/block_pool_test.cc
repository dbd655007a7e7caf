#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "memory/block.h"
#include "records/on_core.h"
#include "seeded_random.h"

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

TEST(BlockPool, counts_the_blocks_and_bytes_that_are_free_now) {
  const auto pool =
      std::make_shared<BlockPool>("x", FreeBlocks{.blocks_max = 3, .bytes_max = 2 * kBytes});
  EXPECT_EQ(pool->free_blocks(), 0U);
  for (int round = 0; round < 3; ++round) {
    std::vector<Block*> out;
    for (int i = 0; i < 3; ++i) out.push_back(pool->take(kBytes));
    EXPECT_EQ(pool->free_blocks(), 0U);
    for (Block* const block : out) drop_block(block);
    EXPECT_EQ(pool->free_blocks(), 2U);
  }
  const auto few = std::make_shared<BlockPool>("x", FreeBlocks{.blocks_max = 2});
  std::vector<Block*> out;
  for (int i = 0; i < 3; ++i) out.push_back(few->take(kBytes));
  for (Block* const block : out) drop_block(block);
  EXPECT_EQ(few->free_blocks(), 2U);
}

TEST(BlockPool, gives_a_block_that_is_large_enough) {
  const auto pool = std::make_shared<BlockPool>("x");
  Block* const small = pool->take(kBytes);
  EXPECT_EQ(small->capacity_bytes, kBytes);
  EXPECT_EQ(block_file(*small), "x");
  drop_block(small);
  Block* const large = pool->take(kBytes + 1);
  EXPECT_EQ(large->capacity_bytes, kBytes + 1);
  EXPECT_EQ(pool->free_blocks(), 1U);
  Block* const again = pool->take(kBytes);
  EXPECT_EQ(again, small);
  EXPECT_EQ(again->references.load(), 1U);
  drop_block(again);
  drop_block(large);
}

TEST(Block, a_view_keeps_the_owner_of_its_bytes) {
  auto owner = std::make_shared<const std::string>("bytes");
  const std::weak_ptr<const std::string> is_there = owner;
  Block* const view = make_view("name", owner->data(), owner);
  EXPECT_EQ(view->data, owner->data());
  EXPECT_EQ(view->capacity_bytes, 0U);
  EXPECT_EQ(block_file(*view), "name");
  owner = nullptr;
  EXPECT_FALSE(is_there.expired());
  drop_block(view);
  EXPECT_TRUE(is_there.expired());
}

/// More blocks than destroy_elements() counts at once, of as many records as it is called with.
TEST(Block, destroyed_records_let_all_their_blocks_go) {
  constexpr std::size_t kBlocks = 300;
  test::SeededRandom random;
  std::vector<std::weak_ptr<const std::string>> bytes;
  std::vector<Record> records;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const auto owner = std::make_shared<const std::string>("bytes");
    bytes.push_back(owner);
    records.push_back(Record::adopt(make_view("file", owner->data(), owner), *owner, i));
  }
  while (records.size() < 10 * kBlocks) records.push_back(records[random() % records.size()]);
  records.emplace_back();
  records.emplace_back("bytes of its own");
  std::shuffle(records.begin(), records.end(), random);
  std::vector<std::byte> memory(records.size() * sizeof(Record));
  for (std::size_t begin = 0; begin < records.size();) {
    const std::size_t count = std::min<std::size_t>(random() % 200, records.size() - begin);
    auto* const some = reinterpret_cast<Record*>(memory.data());
    std::uninitialized_move_n(records.begin() + static_cast<std::ptrdiff_t>(begin), count, some);
    destroy_elements(some, count);
    begin += count;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const bool is_held =
          std::any_of(records.begin() + static_cast<std::ptrdiff_t>(begin), records.end(),
                      [i](const Record& record) { return record.number() == i; });
      ASSERT_EQ(bytes[i].expired(), !is_held) << "block " << i << " behind record " << begin;
    }
  }
}

TEST(Block, a_lone_one_may_have_no_file) {
  Block* const block = make_lone_block(100, nullptr);
  EXPECT_EQ(block->capacity_bytes, 100U);
  EXPECT_EQ(block_file(*block), "");
  drop_block(block);
}

TEST(SpareBlocks, keep_what_is_worth_it) {
  constexpr std::size_t kLargest = 4096 + kBlockLeadBytes;  // an eighth, and the bytes in front
  SpareBlocks spare(std::size_t{8} * 4096);
  const auto keeps = [&](std::size_t bytes) {
    Block* const block = make_lone_block(bytes, nullptr);
    if (spare.keep(block)) return true;
    drop_block(block);
    return false;
  };
  EXPECT_EQ(spare.bytes_max(), 32'768U);
  EXPECT_FALSE(keeps(kLargest + 1));
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(keeps(kLargest));
  const std::size_t rest = 32'768 - 7 * kLargest;
  EXPECT_FALSE(keeps(rest + 1));
  EXPECT_TRUE(keeps(rest));
  drop_block(spare.take(kLargest));
  EXPECT_TRUE(keeps(kLargest)) << "there is room again";
}

TEST(SpareBlocks, keep_no_more_than_a_block_for_each_page) {
  SpareBlocks spare(std::size_t{8} * 4096);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(spare.keep(make_lone_block(100, nullptr)));
  Block* const ninth = make_lone_block(100, nullptr);
  EXPECT_FALSE(spare.keep(ninth));
  drop_block(ninth);
}

TEST(SpareBlocks, give_what_is_large_enough) {
  SpareBlocks spare(1 << 20);
  for (const std::size_t bytes : {300, 200, 100}) {
    EXPECT_TRUE(spare.keep(make_lone_block(bytes, nullptr)));
  }
  EXPECT_EQ(spare.take(301), nullptr);
  for (const std::size_t bytes : {201, 200, 100}) {
    Block* const block = spare.take(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block->capacity_bytes, bytes == 201 ? 300 : bytes);
    drop_block(block);
  }
  EXPECT_EQ(spare.take(1), nullptr);
}

}  // namespace
}  // namespace infeed::detail
