#pragma once

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/keep_rows.h>
#include <infeed/pipeline/global_shuffle.h>
#include <infeed/pipeline/indexed_records.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/records/example.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>
#include <infeed/share.h>

#include "temporary_folder.h"

/// The stream that the tests of several hosts share: indexed records, of which some are damaged and
/// others don't parse.
namespace infeed::test {

constexpr std::int64_t kGlobalBatch = 32;  // 3 hosts don't divide it
constexpr int kRecords = 450;              // nor does it divide the records of a pass
constexpr int kPasses = 2;

/// Writes the records; 1 % of them are bad. Returns the file's name.
inline std::string write_shared_rows(const std::string& folder) {
  std::string file = folder + "/rows.tfrecord";
  RecordWriter writer(file, {.index = true});
  for (int id = 0; id < kRecords; ++id) {
    ExampleBuilder example;
    example.bytes("padding", std::string(100, 'x'));  // the index guards the file's first 4 KiB
    if (id % 200 == 17) {
      example.bytes("id", "no number");
    } else {
      example.integers("id", id);
    }
    writer.write(example.encode());
  }
  writer.close();
  const RecordIndex index = writer.index();
  write_index(index, file + ".index");
  for (const std::size_t record : {80, 333}) flip_bits(file, index.offsets[record] + 14);
  return file;
}

inline std::shared_ptr<KeptRows> kept_rows() {
  return std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64));
}

/// Describes a host's part.
inline Dataset<ColumnBatch> host_part(const std::string& file, const World& world,
                                      const std::shared_ptr<KeptRows>& kept) {
  return indexed_records({file}) | global_shuffle({.seed = 5}) |
         whole_batches(kGlobalBatch, LastBatch::wrap) | repeat(kPasses) | share_of(world) |
         keep_rows(kept, host_rows_max(world, kGlobalBatch), {.parallelism = 2}) |
         host_batches(world, kGlobalBatch) | prefetch();
}

/// Returns the ids of a batch's rows; -1 for an invalid row.
inline std::vector<std::int64_t> ids_of(const ColumnBatch& batch) {
  std::vector<std::int64_t> ids;
  const auto all = batch.column("id").values<std::int64_t>();
  const auto valid = batch.column("valid").values<std::uint8_t>();
  for (std::size_t i = 0; i < all.size(); ++i) ids.push_back(valid[i] != 0 ? all[i] : -1);
  return ids;
}

/// The outcome of one host's run.
struct HostRun {
  std::vector<std::vector<std::int64_t>> steps;  ///< the ids of each step's rows
  Checkpoint checkpoint;
  std::vector<BadRow> bad;
};

/// Runs one host from a checkpoint of another number of hosts for at most so many steps.
inline HostRun run_host(const std::string& file, const World& world,
                        const std::optional<Checkpoint>& resume, std::uint64_t steps_max) {
  const std::shared_ptr<KeptRows> kept = kept_rows();
  const Dataset<ColumnBatch> part = host_part(file, world, kept);
  IterateOptions options;
  if (resume) options.resume = reshard_step(*resume, part, kGlobalBatch);
  auto iterator = part.iterate(options);
  HostRun run;
  while (run.steps.size() < steps_max) {
    const std::optional<ColumnBatch> batch = iterator.next();
    if (!batch) break;
    kept->take(*batch);
    run.steps.push_back(ids_of(*batch));
  }
  run.checkpoint = iterator.checkpoint();
  run.bad = kept->taken();
  return run;
}

/// Puts the rows of all hosts back into the order of the stream that they share.
inline std::vector<std::int64_t> joined(const std::vector<HostRun>& hosts, std::size_t steps) {
  std::vector<std::vector<std::int64_t>> rows(hosts.size());
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (std::size_t step = 0; step < steps; ++step) {
      const auto& taken = hosts[host].steps.at(step);
      rows[host].insert(rows[host].end(), taken.begin(), taken.end());
    }
  }
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < steps * kGlobalBatch; ++i) {
    all.push_back(rows[i % hosts.size()].at(i / hosts.size()));
  }
  return all;
}

}  // namespace infeed::test
