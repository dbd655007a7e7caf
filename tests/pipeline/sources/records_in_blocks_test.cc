#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"

// The counts of records() for its files, behind a run in which a stage that fills batches read them
// in blocks.
namespace infeed::test {
namespace {

/// The count of each file included those of the files before it, so that a resume skipped too few
/// records, and gave one a second time.
TEST(RecordsInBlocks, AreCountedByFileForTheNextResume) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int file = 0; file < 4; ++file) {
    files.push_back(folder.file(std::to_string(file)));
    RecordWriter writer(files.back());
    for (int i = 0; i <= file; ++i)
      writer.write(std::string(1, static_cast<char>('a' + i + 10 * file)));
    writer.close();
  }
  const auto batches =
      records(files) |
      batch_into<std::int64_t>(1, [](const Record& record, const Row<std::int64_t>& row) {
        row.value() = record.bytes().front();
      });
  const auto rows_from = [&](const std::optional<Checkpoint>& place) {
    std::vector<std::int64_t> rows;
    auto iterator = batches.iterate({.resume = place});
    while (const auto batch = iterator.next()) rows.push_back((*batch)[0]);
    return rows;
  };
  const std::vector<std::int64_t> all = rows_from(std::nullopt);
  ASSERT_EQ(all.size(), 10);
  auto iterator = batches.iterate();
  for (std::size_t taken = 0; taken <= all.size(); ++taken) {
    const std::vector<std::int64_t> rest(all.begin() + static_cast<std::ptrdiff_t>(taken),
                                         all.end());
    EXPECT_EQ(rows_from(iterator.checkpoint()), rest) << taken << " were taken";
    iterator.next();
  }
}

}  // namespace
}  // namespace infeed::test
