#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"

// Where elements come from that are several records, or rows, or came from an input: the stage before
// them is asked.
namespace infeed::test {
namespace {

using detail::PlaceLog;
using detail::PositionLog;

using CountAndRecords = std::pair<std::uint64_t, std::uint64_t>;

void expect_record(const PlaceLog& log, std::uint64_t position, const std::string& file,
                   std::uint64_t record) {
  SCOPED_TRACE(position);
  const TracedPlace found = log.find(position);
  ASSERT_TRUE(found.place) << found.why();
  EXPECT_EQ(found.place->file, file);
  EXPECT_EQ(found.place->record, record);
  EXPECT_EQ(found.place->count, 1U);
}

/// A stage that gives nothing, and traces as the test says.
class TracedStage final : public Stage {
 public:
  using Trace = std::function<TracedPlace(std::uint64_t)>;
  TracedStage(const StageContext& context, Trace trace)
      : Stage(context), trace_(std::move(trace)) {}
  Pull do_pull(Chunk&, std::size_t) override { return Pull::end; }
  TracedPlace do_trace(std::uint64_t position) const override { return trace_(position); }

 private:
  const Trace trace_;
};

struct TracedAlone {
  explicit TracedAlone(TracedStage::Trace trace, bool traces = false)
      : run(IterateOptions{.trace = traces}),
        stage({.run = run, .counters = &counters, .type = &type_info<std::int64_t>()},
              std::move(trace)) {}

  IteratorContext run;
  detail::StageCounters counters;
  TracedStage stage;
};

/// Ten elements of two records each, ten of one, an unknown one, and some with gaps between them.
TracedPlace place_of_element(std::uint64_t position) {
  if (position == 20) return TracedPlace::unknown("nobody knows");
  if (position < 10) return {RecordPlace{"a", 2 * position, 2, 100 * position}, {}};
  return {RecordPlace{"b", position < 20 ? position - 10 : 3 * position}, {}};
}

TEST(TraceRange, IsOneOfNeighbouringRecords) {
  const TracedAlone alone(place_of_element);
  for (const auto& [count, records] :
       std::vector<CountAndRecords>{{0, 2}, {1, 2}, {2, 4}, {4, 8}}) {
    const TracedPlace found = detail::trace_range(alone.stage, 3, count);
    ASSERT_TRUE(found.place) << count;
    EXPECT_EQ(found.place->file, "a");
    EXPECT_EQ(found.place->record, 6U);
    EXPECT_EQ(found.place->count, records);
    EXPECT_EQ(found.place->offset, 300U);
  }
  const auto why = [&](std::uint64_t position, std::uint64_t count) {
    const TracedPlace found = detail::trace_range(alone.stage, position, count);
    EXPECT_FALSE(found.place);
    return found.why();
  };
  EXPECT_EQ(why(8, 4),
            "it is one of 4 elements whose records are no neighbours, from a record 16 on");
  EXPECT_EQ(why(19, 2),
            "it is one of 2 elements whose records are no neighbours, from b record 9 on");
  EXPECT_EQ(why(21, 2),
            "it is one of 2 elements whose records are no neighbours, from b record 63 on");
  EXPECT_EQ(why(20, 3), "nobody knows");
}

TEST(TraceRange, HasTheRowsOfABatchIfTheyAreWanted) {
  const TracedAlone alone(place_of_element, true);
  const auto row_of = [](const TracedAlone& traced, std::uint64_t first) {
    return [&traced, first](std::uint64_t row) { return traced.stage.trace(first + row); };
  };
  const TracedPlace batch = detail::trace_rows(alone.run, 3, row_of(alone, 8));
  EXPECT_FALSE(batch.place);
  ASSERT_EQ(batch.rows.size(), 3U);
  EXPECT_EQ(batch.rows[0].place->record, 16U);
  EXPECT_EQ(batch.rows[1].place->record, 18U);
  EXPECT_EQ(batch.rows[2].place->file, "b");
  const TracedAlone untraced(place_of_element);
  const TracedPlace place = detail::trace_rows(untraced.run, 2, row_of(untraced, 3));
  EXPECT_EQ(place.place->count, 4U);
  EXPECT_TRUE(place.rows.empty());
  EXPECT_EQ(detail::trace_rows(alone.run, 0, row_of(alone, 8)).why(),
            "it is no batch, or lies too far back");
}

TEST(TraceRange, TracesEachRowOnce) {
  for (const bool traces : {false, true}) {
    const TracedAlone alone(place_of_element, traces);
    for (const std::uint64_t rows : {1, 2, 5}) {
      std::vector<std::uint64_t> traced;
      const TracedPlace batch = detail::trace_rows(alone.run, rows, [&](std::uint64_t row) {
        traced.push_back(row);
        return alone.stage.trace(row);
      });
      EXPECT_EQ(batch.place->count, 2 * rows);
      std::sort(traced.begin(), traced.end());
      std::vector<std::uint64_t> expected(rows);
      std::iota(expected.begin(), expected.end(), 0U);
      EXPECT_EQ(traced, expected);
    }
  }
}

TEST(TraceRange, LooksAtAFewRowsOfManyUnlessEachIsWanted) {
  const auto in_order = [](std::uint64_t i) { return TracedPlace{RecordPlace{"a", i}, {}}; };
  const TracedAlone alone(in_order);
  std::uint64_t looks = 0;
  const TracedPlace batch = detail::trace_rows(alone.run, 1000, [&](std::uint64_t row) {
    ++looks;
    return in_order(row);
  });
  EXPECT_EQ(batch.place->count, 1000U);
  EXPECT_LE(looks, 12U);
}

/// Behind a shuffle the ends of a range may lie as those of neighbours would.
TEST(TraceRange, IsNoneIfOthersLieBetweenItsEnds) {
  const auto between = [](std::uint64_t i) {
    return TracedPlace{RecordPlace{"a", i == 2 ? 7 : i}, {}};
  };
  for (const bool traces : {false, true}) {
    const TracedAlone alone(between, traces);
    EXPECT_FALSE(detail::trace_range(alone.stage, 0, 4).place);
    EXPECT_FALSE(detail::trace_range(alone.stage, 1, 3).place);
    EXPECT_FALSE(detail::trace_rows(alone.run, 4, between).place);
    PlaceLog places;
    detail::note_places(alone.run, places, 10, 4, alone.stage, 0);
    for (std::uint64_t i = 0; i < 4; ++i) expect_record(places, 10 + i, "a", i == 2 ? 7 : i);
  }
}

TEST(TraceRange, GoesThroughAStageThatKeepsRows) {
  const TracedAlone alone(place_of_element, true);
  detail::RowLog kept(4);
  kept.add_next(1, 0);
  kept.add_next(2, 2);
  kept.end_batch(1);
  const TracedPlace batch = detail::trace_rows(alone.run, kept, 1, alone.stage);
  ASSERT_EQ(batch.rows.size(), 3U);
  EXPECT_EQ(batch.rows[0].place->record, 0U);
  EXPECT_EQ(batch.rows[1].place->record, 4U);
  EXPECT_EQ(batch.rows[2].place->record, 6U);
  EXPECT_FALSE(detail::trace_rows(alone.run, kept, 0, alone.stage).place) << "an error";
}

TEST(TraceRange, GoesThroughAStageThatKeepsPositions) {
  const TracedAlone alone(place_of_element);
  PositionLog kept;
  kept.add(5, 1, {3, 2});
  EXPECT_EQ(detail::traced_through(kept, 5, alone.stage).place->count, 4U);
  EXPECT_EQ(detail::traced_through(kept, 4, alone.stage).why(), "it lies too far back");
}

TEST(NotePlaces, KeepsNeighboursTogether) {
  const TracedAlone alone([](std::uint64_t i) {
    return TracedPlace{RecordPlace{i < 4 ? "a" : "b", i % 4}, {}};
  });
  PlaceLog places;
  detail::note_places(alone.run, places, 100, 0, alone.stage, 0);
  EXPECT_TRUE(places.is_empty());
  detail::note_places(alone.run, places, 100, 7, alone.stage, 1);
  for (std::uint64_t i = 1; i < 8; ++i) expect_record(places, 99 + i, i < 4 ? "a" : "b", i % 4);
}

/// Tracing each of many elements would take longer than to make them.
TEST(NotePlaces, AsksForAFewPlacesOnly) {
  const TracedAlone alone([](std::uint64_t i) { return TracedPlace{RecordPlace{"a", 3 * i}, {}}; });
  PlaceLog places;
  detail::note_places(alone.run, places, 0, 64, alone.stage, 0);
  expect_record(places, 0, "a", 0);
  expect_record(places, 14, "a", 42);
  EXPECT_FALSE(places.find(15).place);
  const TracedAlone each(
      [](std::uint64_t i) {
        return TracedPlace{RecordPlace{"a", 3 * i}, {}};
      },
      true);
  PlaceLog all;
  detail::note_places(each.run, all, 0, 64, each.stage, 0);
  for (std::uint64_t i = 0; i < 64; ++i) expect_record(all, i, "a", 3 * i);
}

/// Neither the next record of another file nor an element that nobody can trace is a neighbour.
TEST(TraceRange, IsOfOneFileAndOfKnownElements) {
  const TracedAlone alone([](std::uint64_t i) {
    if (i == 0) return TracedPlace::unknown("nobody knows");
    return TracedPlace{RecordPlace{i < 3 ? "a" : "b", i}, {}};
  });
  const auto why = [&](std::uint64_t first, std::uint64_t rows) {
    const auto trace = [&](std::uint64_t row) { return alone.stage.trace(first + row); };
    const TracedPlace batch = detail::trace_rows(alone.run, rows, trace);
    EXPECT_FALSE(batch.place);
    return batch.why();
  };
  EXPECT_EQ(why(0, 1), "nobody knows");
  EXPECT_EQ(why(0, 2), "nobody knows") << "its first row stands for the batch";
  EXPECT_EQ(why(2, 2),
            "it is one of 2 elements whose records are no neighbours, from a record 2 on");
  const auto gap = [](std::uint64_t i) {
    return i == 0 ? TracedPlace{RecordPlace{"a", 7}, {}} : TracedPlace::unknown("nobody knows");
  };
  EXPECT_EQ(detail::trace_rows(alone.run, 3, gap).why(),
            "it is one of 3 elements whose records are no neighbours, from a record 7 on");
}

TEST(TraceRange, KnowsTheRowsThatAreKept) {
  const TracedAlone alone(place_of_element);
  detail::RowLog kept(2);
  kept.add(0, 0, 1, 4);
  EXPECT_EQ(detail::trace_rows(alone.run, kept, 0, alone.stage).place->record, 8U);
  EXPECT_EQ(detail::trace_rows(alone.run, kept, 1, alone.stage).why(),
            "it is no batch, or lies too far back");
}

/// One that can't be traced costs the others nothing, and stays unknown.
TEST(NotePlaces, KeepsTheKnownAmongUnknownElements) {
  const TracedAlone alone([](std::uint64_t i) {
    if (i % 3 == 0) return TracedPlace::unknown("nobody knows");
    return TracedPlace{RecordPlace{"a", 2 * i}, {}};
  });
  for (const std::uint64_t first : {0, 2}) {
    PlaceLog places;
    detail::note_places(alone.run, places, 10, 2, alone.stage, first);
    for (const std::uint64_t i : {0, 1}) {
      if ((first + i) % 3 == 0) {
        EXPECT_FALSE(places.find(10 + i).place);
      } else {
        expect_record(places, 10 + i, "a", 2 * (first + i));
      }
    }
  }
}

/// Elements of several records each are kept together, too.
TEST(NotePlaces, KeepsTheRecordsOfEachElement) {
  const TracedAlone alone(place_of_element);
  PlaceLog places;
  detail::note_places(alone.run, places, 0, 4, alone.stage, 3);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const TracedPlace found = places.find(i);
    ASSERT_TRUE(found.place) << i;
    EXPECT_EQ(found.place->file, "a");
    EXPECT_EQ(found.place->record, 2 * (3 + i));
    EXPECT_EQ(found.place->count, 2U);
    EXPECT_EQ(found.place->offset.value_or(0), i == 0 ? 300U : 0U);
  }
}

/// The rows of a batch of which one failed, and of the next, whole one, each with the records of its batch.
TEST(NotePlaces, KeepsElementsOfMoreRecordsApart) {
  const TracedAlone alone([](std::uint64_t i) {
    return TracedPlace{i == 0 ? RecordPlace{"a", 22, 1} : RecordPlace{"a", 24, 2}, {}};
  });
  EXPECT_FALSE(detail::trace_range(alone.stage, 0, 3).place);
  PlaceLog places;
  detail::note_places(alone.run, places, 0, 3, alone.stage, 0);
  expect_record(places, 0, "a", 22);
  for (const std::uint64_t position : {1, 2}) {
    EXPECT_EQ(places.find(position).place->record, 24U);
    EXPECT_EQ(places.find(position).place->count, 2U);
  }
}

}  // namespace
}  // namespace infeed::test
