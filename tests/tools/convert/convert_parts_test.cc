#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include <infeed/error.h>

#include "convert/column_statistics.h"
#include "convert/example_order.h"
#include "convert/journal.h"
#include "convert/manifest.h"
#include "convert/shard_queue.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/folder_content.h"

/// The parts of a conversion, each alone.
namespace infeed::test {
namespace {

using namespace tools;

TEST(ExampleOrder, IsAPermutationAtEverySize) {
  for (std::uint64_t size = 0; size < 300; ++size) {
    const ExampleOrder order(size, 42);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) seen.insert(order.example_at(i));
    ASSERT_EQ(seen.size(), size);
    for (const std::uint64_t example : seen) ASSERT_LT(example, size);
  }
  EXPECT_EQ(ExampleOrder(10, {}).example_at(7), 7);
}

TEST(ExampleOrder, EveryPlaceGetsEveryExampleEquallyOften) {
  constexpr std::uint64_t kSize = 10;
  constexpr int kSeeds = 20'000;
  for (const std::uint64_t position : {0U, 4U, 9U}) {
    std::array<int, kSize> counts{};
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ++counts.at(ExampleOrder(kSize, seed).example_at(position));
    }
    for (const int count : counts) EXPECT_NEAR(count, kSeeds / kSize, 250) << position;
  }
}

TEST(ExampleOrder, LargeSizesDontOverflow) {
  const ExampleOrder order(std::numeric_limits<std::uint64_t>::max() - 1, 1);
  EXPECT_NE(order.example_at(0), order.example_at(1));
}

TEST(Validation, TakesTheShareAndKeepsIt) {
  int count = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = fmt::format("images.gz#{}", i);
    const bool is_chosen = is_for_validation(name, 0.1);
    count += is_chosen ? 1 : 0;
    EXPECT_TRUE(!is_chosen || is_for_validation(name, 0.2))
        << "a larger share takes more, not others";
    EXPECT_FALSE(is_for_validation(name, 0));
    EXPECT_TRUE(is_for_validation(name, 1));
  }
  EXPECT_NEAR(count, 1000, 100);
}

TEST(ColumnStatistics, CountsWhatIsThere) {
  for (const bool names_given : {false, true}) {
    ColumnStatistics statistics(names_given ? std::vector<std::string>{"i", "f", "b"}
                                            : std::vector<std::string>{});
    statistics.add(
        ExampleBuilder()
            .integers("i", std::vector<std::int64_t>{-3, 9})
            .floats("f", std::vector<float>{1.5F, std::numeric_limits<float>::infinity()})
            .encode());
    statistics.add(ExampleBuilder().bytes("b", "four").integers("i", 1).encode());
    statistics.add(ExampleBuilder().floats("b", 1).encode());
    const std::vector<Column> columns = statistics.columns();
    ASSERT_THAT(columns, SizeIs(3));
    EXPECT_EQ(columns[0].name, "b");
    EXPECT_EQ(columns[0].integer_max, 4);
    EXPECT_EQ(columns[0].other_kinds, 1);
    EXPECT_EQ(columns[1].not_finite, 1);
    EXPECT_EQ(columns[1].float_max, 1.5);
    EXPECT_EQ(columns[2].examples, 2);
    EXPECT_EQ(columns[2].values, 3);
    EXPECT_EQ(columns[2].values_min, 1);
    EXPECT_EQ(columns[2].values_max, 2);
    EXPECT_EQ(columns[2].integer_min, -3);
    EXPECT_EQ(columns[2].sum, 7);
  }
}

/// Short examples are read by their own names where there are thousands of columns, long ones by all names.
TEST(ColumnStatistics, AreTheSameHoweverManyColumnsAnExampleHas) {
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back(fmt::format("column {}", i));
  std::vector<std::string> examples = {"no example"};
  for (const int of_each : {1, 3, 40, 3000}) {
    ExampleBuilder builder;
    for (int i = 0; i < of_each; ++i) builder.integers(names[std::size_t(i)], i - of_each);
    examples.push_back(builder.floats("nobody's", 1).encode());
  }
  ColumnStatistics known(names);
  ColumnStatistics met;
  for (const std::string& example : examples) {
    known.add(example);
    met.add(example);
  }
  std::vector<Column> without;
  for (const Column& column : met.columns()) {
    if (column.name != "nobody's") without.push_back(column);
  }
  const std::vector<Column> found = known.columns();
  ASSERT_EQ(found.size(), without.size());
  for (std::size_t i = 0; i < without.size(); ++i) {
    SCOPED_TRACE(without[i].name);
    EXPECT_EQ(found[i].name, without[i].name);
    EXPECT_EQ(found[i].examples, without[i].examples);
    EXPECT_EQ(found[i].sum, without[i].sum);
  }
  EXPECT_EQ(known.opaque_records(), 1);
}

TEST(ColumnStatistics, MergingPartsIsTheWhole) {
  ColumnStatistics whole;
  ColumnStatistics merged;
  for (int part = 0; part < 3; ++part) {
    ColumnStatistics statistics;
    for (int i = 0; i < 5; ++i) {
      const std::string example = ExampleBuilder()
                                      .integers("n", part * 5 + i)
                                      .floats(part == 1 ? "only" : "other", 0.25F * float(i))
                                      .encode();
      whole.add(example);
      statistics.add(example);
    }
    merged.merge(ColumnStatistics::from_json(statistics.to_json()));
  }
  merged.add("no example");
  whole.add("no example");
  EXPECT_EQ(merged.opaque_records(), 1);
  EXPECT_EQ(merged.to_json().dump(), whole.to_json().dump());
}

TEST(ShardQueue, WhatALostRankHadIsHandedOutAgain) {
  ShardQueue queue({0, 1, 2, 3});
  EXPECT_EQ(queue.next_for(1)->shard, 0);
  EXPECT_EQ(queue.next_for(2)->shard, 1);
  EXPECT_EQ(queue.next_for(1)->shard, 2);
  EXPECT_TRUE(queue.claim(0));
  EXPECT_EQ(queue.take_back_from(1), 1) << "shard 0 is made";
  const auto again = queue.wait_for_next({});
  EXPECT_EQ(again->shard, 2);
  EXPECT_TRUE(again->was_lost);
  EXPECT_TRUE(queue.claim(2));
  EXPECT_FALSE(queue.claim(2)) << "the rank was only slow";
  EXPECT_EQ(queue.take_back_from(2), 1);
  EXPECT_TRUE(queue.claim(1)) << "it comes back, before another has taken it";
  EXPECT_EQ(queue.wait_for_next({})->shard, 3);
  EXPECT_FALSE(queue.next_for(2));
  EXPECT_TRUE(queue.claim(3));
  for (int made = 0; made < 4; ++made) queue.note_committed();
  EXPECT_FALSE(queue.wait_for_next({})) << "nobody waits any more";
}

TEST(Journal, KeepsWholeLinesOfAnyCut) {
  const TemporaryFolder folder;
  const std::string file = folder.file("journal");
  {
    Journal journal(file, Durability::synced);
    for (const char* const text : {"first", "second", "third"}) journal.append(text);
  }
  const std::string whole = read_whole(file);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_whole(file, whole.substr(0, size));
    const auto lines = static_cast<std::size_t>(
        std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    EXPECT_THAT(read_journal(file), SizeIs(lines));
    {
      Journal journal(file, Durability::leave_to_system);
      EXPECT_THAT(journal.lines(), SizeIs(lines));
      journal.append("again");
    }
    const Journal journal(file, Durability::leave_to_system);
    ASSERT_THAT(journal.lines(), SizeIs(lines + 1)) << size;
    EXPECT_EQ(journal.lines().back(), "again");
  }
  EXPECT_THAT(read_journal(folder.file("none")), IsEmpty());
}

TEST(Journal, EveryFlippedBitIsFound) {
  const TemporaryFolder folder;
  const std::string file = folder.file("journal");
  Journal(file, Durability::leave_to_system).append("the only line");
  const std::string whole = read_whole(file);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    write_whole(file, bytes);
    for (const std::string& line : read_journal(file)) {
      EXPECT_EQ(line, "the only line") << bit;  // a digit of the checksum in capitals is the same
    }
  }
}

Manifest some_manifest() {
  ShardEntry shard;
  shard.file = "a-00000-of-00001.tfrecord";
  shard.sum = {100, 0xdeadbeef};
  shard.examples = 2;
  shard.side_file = SideFile{".index", {52, 7}};
  shard.statistics.add(ExampleBuilder().floats("x", 0.1F).encode());
  shard.quarantined = {{"x.csv row 3", "it is bad"}};
  const auto parsed = parse_shard_entry(to_text(shard));
  Manifest manifest = make_manifest("{\n \"plan\": 1\n}\n", "00c0ffee", {parsed.value()});
  manifest.shapes = {{"x", {3, 32, 32}}, {"unseen", {}}};
  manifest.classes = {"cat", "dog"};
  return manifest;
}

TEST(Manifest, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const std::string text = to_text(some_manifest());
  folder.write("m.json", text);
  const Manifest read = read_manifest(folder.file("m.json"));
  EXPECT_EQ(to_text(read), text);
  EXPECT_EQ(read.examples(), 2);
  EXPECT_EQ(read.shapes, (ColumnShapes{{"x", {3, 32, 32}}}));
  EXPECT_THAT(read.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(read.quarantined, ElementsAre(QuarantinedExample{"x.csv row 3", "it is bad"}));
}

TEST(Manifest, DamageIsFound) {
  const TemporaryFolder folder;
  const std::string file = folder.file("m.json");
  const std::string whole = to_text(some_manifest());
  const auto damage = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    write_whole(file, text);
    return std::string(error_of([&] { read_manifest(file); }).what());
  };
  EXPECT_THAT(damage("deadbeef", "deadbeee"), HasSubstr("the manifest is damaged"));
  EXPECT_THAT(damage("\"examples\": 2", "\"examples\": 3"), HasSubstr("damaged"));
  EXPECT_THAT(damage("\"cat\"", "\"cow\""), HasSubstr("damaged"));
  EXPECT_THAT(damage("{", ""), HasSubstr("damaged"));
  EXPECT_THAT(damage("infeed-manifest 1", "infeed-manifest 9"),
              HasSubstr("the manifest has format version 9"));
}

}  // namespace
}  // namespace infeed::test
