#include <gtest/gtest.h>
#include <string>

#include <infeed/records/json_parser.h>

#include "pipeline/suite/counted_memory.h"

/// The memory that JsonParser takes besides its rows.
namespace infeed::test {
namespace {

constexpr std::size_t kLongTextBytes = 4 << 20;

std::string text_of_members(const std::string& member) {
  std::string text = "{";
  while (text.size() < kLongTextBytes) text += member + ",";
  return text + "\"a\":7}";
}

TEST(JsonTextMemory, OfTextsWithManyMembersIsSmall) {
  const JsonParser parser(ColumnSchema().column("a", DType::int32));
  for (const std::string& member : {std::string("\"\":1"), "\"" + std::string(300, 'n') + "\":1"}) {
    const std::string text = text_of_members(member);
    const CountedMemory memory;
    {
      ColumnRows rows = parser.begin(1);
      parser.parse_row(text, nullptr, 0, rows);
      const ColumnBatch batch = parser.finish(std::move(rows), 1);
      EXPECT_EQ(batch.column("a").values<std::int32_t>()[0], 7);
    }
    EXPECT_LE(memory.peak_bytes(), 4 * kLongTextBytes) << member;
    EXPECT_LE(memory.held_bytes(), kLongTextBytes / 4) << member << ": nothing long is kept";
  }
}

}  // namespace
}  // namespace infeed::test
