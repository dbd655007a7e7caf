#include <infeed/infeed.h>

#include "pipeline/batch/suite_rows.h"
#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Unbatch, GivesBackWhatWasBatched) {
  for (const std::int64_t size : {1, 3, 7, 1000}) {
    SCOPED_TRACE(size);
    const auto build = [size](auto dataset) { return dataset | batch(size) | unbatch(); };
    // Errors come before the rows that were gathered when they came.
    const auto model = [size](const Slots& in) {
      Stream stream;
      Stream rows;
      for (const Slot& slot : in) {
        (slot.fails ? stream : rows).push_back(show(slot));
        if (static_cast<std::int64_t>(rows.size()) < size) continue;
        stream.insert(stream.end(), rows.begin(), rows.end());
        rows.clear();
      }
      stream.insert(stream.end(), rows.begin(), rows.end());
      return stream;
    };
    run_stage_suite_on<std::int64_t>(build, model);
    run_stage_suite_on<std::string>(build, model);
    run_stage_suite_on<Wide>(build, model);
  }
}

TEST(Unbatch, TakesBatchesOfEveryOtherKindApart) {
  const auto model = [](const Slots& in) {
    Stream stream;
    Stream rows;
    for (const Slot& slot : in) {
      (slot.fails ? stream : rows).push_back(show(slot));
      if (rows.size() < 3) continue;
      stream.insert(stream.end(), rows.begin(), rows.end());
      rows.clear();
    }
    stream.insert(stream.end(), rows.begin(), rows.end());
    return stream;
  };
  const auto number = [](const SuiteRow& row) { return number_of_row(row); };
  run_stage_suite_on<std::int64_t>(
      [&](auto dataset) {
        return dataset | map(row_of_number) | padded_batch(3, {.padding = -1}) | unbatch() |
               map(number);
      },
      model);
  run_stage_suite_on<std::int64_t>(
      [&](auto dataset) {
        return dataset | map(row_of_number) | ragged_batch(3) | unbatch() | map(number);
      },
      model);
  run_stage_suite_on<std::int64_t>(
      [](auto dataset) {
        return dataset | map(columns_of_number) | rebatch(3) | unbatch() |
               map([](const ColumnBatch& row) { return numbers_of_rows(row).front(); });
      },
      model);
}

/// Vectors of different lengths, 0 among them.
TEST(Unbatch, TakesVectorsApart) {
  run_stage_suite(
      [](auto dataset) {
        using T = typename decltype(dataset)::element_type;
        return dataset | map([](const T& x) {
                 std::vector<T> rows;
                 for (std::int64_t i = 0; i < value_of(x) % 4; ++i) {
                   rows.push_back(make_element<T>(10 * value_of(x) + i));
                 }
                 return rows;
               }) |
               unbatch();
      },
      [](const Slots& in) {
        Stream stream;
        for (const Slot& slot : in) {
          if (slot.fails) stream.push_back(show(slot));
          for (std::int64_t i = 0; !slot.fails && i < slot.value % 4; ++i) {
            stream.push_back(std::to_string(10 * slot.value + i));
          }
        }
        return stream;
      });
}

TEST(Unbatch, TakesRowsOfSeveralColumnsApart) {
  const auto pairs = range(10) | map([](std::int64_t x) { return std::pair(x, -x); }) | batch(4) |
                     unbatch() | map([](const std::pair<std::int64_t, std::int64_t>& row) {
                       return row.first * 100 + row.second;
                     });
  run_source_suite([&] { return pairs; }, numbers({0, 99, 198, 297, 396, 495, 594, 693, 792, 891}));
}

TEST(Unbatch, LeavesSharedBatchesAlone) {
  const auto twice = range(6) | batch(3) | map([](const Batch<std::int64_t>& rows) {
                       return std::vector<Batch<std::int64_t>>{rows, rows};
                     }) |
                     unbatch() | unbatch();
  run_source_suite([&] { return twice; }, numbers({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
}

TEST(Unbatch, TakesVectorsOfBoolApart) {
  const auto flags = range(3) | map([](std::int64_t x) {
                       return std::vector<bool>{x == 1, true};
                     }) |
                     unbatch() | map([](bool flag) { return std::int64_t{flag}; });
  run_source_suite([&] { return flags; }, numbers({0, 1, 1, 1, 0, 1}));
}

}  // namespace
}  // namespace infeed::test
