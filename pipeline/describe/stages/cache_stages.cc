#include <infeed/pipeline/cache.h>
#include <infeed/pipeline/file_cache.h>
#include <infeed/pipeline/optional_cache.h>
#include <infeed/pipeline/snapshot.h>

#include "describe/stages/enums.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {

template <>
struct EnumNames<FileCacheOptions::Mismatch> {
  using Mismatch = FileCacheOptions::Mismatch;
  static constexpr std::pair<Mismatch, std::string_view> kNames[] = {
      {Mismatch::refuse, "refuse"}, {Mismatch::rewrite, "rewrite"}};
};

namespace {

struct OptionalCacheStage : StageOptions {};
struct ReadSnapshotStage : StageOptions {
  std::string path = {};
};

/// Reads a snapshot of the first of these types that it holds.
template <class T, class... Others>
Elements read_as(const ReadSnapshotStage& stage) {
  try {
    return Elements{read_snapshot<T>(stage.path, stage)};
  } catch (const Error& error) {
    // It is of another type, or refused for a reason that is the same for all of them.
    if (sizeof...(Others) == 0 || error.code() != ErrorCode::failed_precondition) throw;
  }
  if constexpr (sizeof...(Others) != 0) return read_as<Others...>(stage);
}

/// Applies a stage that writes elements to files.
template <class Stage>
Elements stored(const Elements& input, const char* name, const Stage& stage) {
  Elements after = input;
  after.batch_at_source = {};
  after.dataset = std::visit(
      [&]<class T>(const Dataset<T>& dataset) -> AnyDataset {
        if constexpr (kHasElementCodec<T>) {
          return dataset | stage;
        } else {
          throw Error(ErrorCode::invalid_argument,
                      std::string(name) + ": elements of the kind '" +
                          std::string(to_string(input.kind())) +
                          "' can't be written to files: put batch before it");
        }
      },
      input.dataset);
  return after;
}

}  // namespace

void add_cache_stages(StageTable& table) {
  table
      .add("cache", "Keeps the elements of the first pass, in memory or in a folder.",
           FileCacheOptions{})
      .option("path", &FileCacheOptions::path, "The folder; without it the memory.")
      .option("mismatch", &FileCacheOptions::mismatch,
              "A folder that holds another pipeline's elements: 'refuse' gives an error, 'rewrite' "
              "deletes them.")
      .option("version", &FileCacheOptions::version, "Changed when a function changes.")
      .option("shard_bytes", &FileCacheOptions::shard_bytes, "The size of a file.")
      .option("compression", &FileCacheOptions::compression, "How files are written.")
      .makes([](const FileCacheOptions& stage, const Making& making) {
        if (!stage.path.empty()) return stored(making.input(), "cache", cache(stage));
        return making.input().then(cache(StageOptions{.name = stage.name}));
      });
  table
      .add("optional_cache", "Keeps the elements in memory if the tuner finds that it helps.",
           OptionalCacheStage{})
      .makes([](const OptionalCacheStage& stage, const Making& making) {
        return making.input().then(optional_cache(stage));
      });
  table
      .add("snapshot", "Writes the elements to a folder of their own below a path, once.",
           SnapshotOptions{})
      .required("path", &SnapshotOptions::path, "The folder of all snapshots.")
      .option("version", &SnapshotOptions::version, "Changed when a function changes.")
      .option("shard_bytes", &SnapshotOptions::shard_bytes, "The size of a file.")
      .option("compression", &SnapshotOptions::compression, "How files are written.")
      .makes([](const SnapshotOptions& stage, const Making& making) {
        return stored(making.input(), "snapshot", snapshot(stage));
      });
  table
      .add("read_snapshot",
           "Reads the elements of a complete snapshot, without the pipeline that made them.",
           ReadSnapshotStage{}, StageRole::source)
      .required("path", &ReadSnapshotStage::path,
                "The snapshot's folder, or a folder that holds a single one.")
      .makes([](const ReadSnapshotStage& stage, const Making&) {
        return read_as<ColumnBatch, Record, std::int64_t, std::string>(stage);
      });
}

}  // namespace infeed::describe
