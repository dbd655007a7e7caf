// The program of pipeline/world/README.md takes the same global batches with any number of ranks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <infeed/agree.h>
#include <infeed/infeed.h>
#include <infeed/records/record_index.h>
#include <infeed/share.h>

#include "temporary_folder.h"
#include "world/local_world.h"

namespace infeed::test {
namespace {

namespace guide {
#include "world_guide.h"
}  // namespace guide

void write_rows(const std::string& file, int count) {
  RecordWriter writer(file, {.index = true});
  for (int id = 0; id < count; ++id) {
    writer.write(
        ExampleBuilder().integers("id", id).bytes("padding", std::string(100, 'x')).encode());
  }
  writer.close();
  write_index(writer.index(), file + ".index");
}

/// Runs so many ranks for `steps` steps. Returns the ids of all ranks by step, and puts the last
/// place into `saved`.
std::vector<std::multiset<std::int64_t>> run(int ranks, const std::string& file, std::size_t steps,
                                             std::optional<Checkpoint>& saved) {
  LocalWorld world(ranks);
  std::vector<std::vector<std::vector<std::int64_t>>> taken(static_cast<std::size_t>(ranks));
  std::vector<Checkpoint> places(static_cast<std::size_t>(ranks));
  const auto errors = world.run([&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.world().rank);
    guide::train(communicator, file, saved, [&](const ColumnBatch& batch, const Checkpoint& place) {
      const auto ids = batch.column("id").values<std::int64_t>();
      taken[rank].emplace_back(ids.begin(), ids.end());
      places[rank] = place;
      return taken[rank].size() < steps;
    });
  });
  EXPECT_THAT(errors, ::testing::Each(::testing::IsEmpty()));
  saved = Checkpoint::from_text(places.back().to_text());
  std::vector<std::multiset<std::int64_t>> all(steps);
  for (const auto& of_rank : taken) {
    for (std::size_t step = 0; step < steps; ++step) {
      all[step].insert(of_rank.at(step).begin(), of_rank.at(step).end());
    }
  }
  return all;
}

TEST(WorldGuide, AnyNumberOfRanksTakeTheSameGlobalBatches) {
  const TemporaryFolder folder;
  const std::string file = folder.file("rows.tfrecord");
  write_rows(file, 100);
  std::optional<Checkpoint> alone;
  const auto expected = run(1, file, 12, alone);
  for (const auto& ids : expected) EXPECT_EQ(ids.size(), 24);
  std::optional<Checkpoint> saved;
  auto taken = run(3, file, 5, saved);
  for (const auto& ids : run(2, file, 7, saved)) taken.push_back(ids);
  EXPECT_EQ(taken, expected);
}

}  // namespace
}  // namespace infeed::test
