#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/detail/name_table.h>

#include "sanitizers.h"
#include "thrown_error.h"

namespace {
/// Number of this thread's next allocation that fails, from 1; 0: none fails.
thread_local int refused_allocation = 0;
}  // namespace

#if !defined(INFEED_TESTS_SANITIZED)
void* operator new(std::size_t bytes) {
  const bool is_refused = refused_allocation > 0 && --refused_allocation == 0;
  void* const memory = is_refused ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace infeed::detail {
namespace {

std::string name_of(std::size_t index) { return fmt::format("a name that is long: {}", index); }

NameTable table_of(std::size_t size) {
  NameTable table;
  for (std::size_t i = 0; i < size; ++i) table.add(name_of(i), "column");
  return table;
}

void expect_whole(const NameTable& table, std::size_t size) {
  ASSERT_EQ(table.size(), size);
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t predicted = table.first();
    EXPECT_EQ(table.find(name_of(i), predicted), i);
  }
}

TEST(NameTable, FindsNamesOfAnyLength) {
  NameTable table;
  std::vector<std::string> names = {""};
  for (std::size_t size = 1; size < 25; ++size) {
    names.emplace_back(size, 'x');
    for (std::size_t i = 0; i < size; ++i) {
      names.emplace_back(size, 'x');
      names.back()[i] = 'y';
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.add(names[i], "column"), i);
  EXPECT_EQ(table.names(), names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t predicted = table.first();
    EXPECT_EQ(table.find(names[i], predicted), i);
    const std::size_t after = predicted;
    EXPECT_EQ(table.find(std::string(i % 30, 'z') + "z", predicted), names.size());
    EXPECT_EQ(predicted, after) << "a name that isn't there predicts nothing";
    EXPECT_EQ(error_of([&] { table.add(names[i], "feature"); }).message(),
              fmt::format("feature '{}' is given twice, as features {} and {} (from 0 on); leave "
                          "one out, or give it another name",
                          names[i], i, names.size()));
  }
  EXPECT_EQ(table.size(), names.size());
}

/// Records are written with their names sorted.
TEST(NameTable, PredictsTheNextNameOfASortedRecord) {
  NameTable table;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 260; ++i) {
    // The first 256 are put where they belong, the others behind them.
    names.push_back(fmt::format("{:03}", i < 256 ? i * 77 % 256 + 10 : 260 - i));
    table.add(names.back(), "column");
  }
  std::vector<std::string> sorted(names.begin(), names.begin() + 256);
  std::sort(sorted.begin(), sorted.end());
  sorted.insert(sorted.end(), names.begin() + 256, names.end());
  std::size_t predicted = table.first();
  for (const std::string& name : sorted) {
    EXPECT_EQ(names[predicted], name);
    EXPECT_EQ(names[table.find(name, predicted)], name);
  }
  EXPECT_EQ(predicted, table.first()) << "the next record begins with the first name again";
}

/// A table with a name but no place for its hash was read by the thread that summed up the next
/// shard: `infeed convert` crashed where its memory ended.
TEST(NameTable, IsAsItWasWhereAnAllocationFails) {
  int refused = 0;
  for (std::size_t size = 0; size <= 40; ++size) {
    for (int allocation = 1;; ++allocation) {
      NameTable table = table_of(size);
      std::string name = name_of(size);
      bool is_refused = false;
      refused_allocation = allocation;
      try {
        table.add(std::move(name), "column");
      } catch (const std::bad_alloc&) {
        is_refused = true;
      }
      refused_allocation = 0;
      if (!is_refused) break;
      ++refused;
      expect_whole(table, size);
      EXPECT_EQ(table.add(name_of(size), "column"), size);
      expect_whole(table, size + 1);
    }
  }
#if !defined(INFEED_TESTS_SANITIZED)
  EXPECT_GT(refused, 10);
#endif
}

}  // namespace
}  // namespace infeed::detail
