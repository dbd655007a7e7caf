#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <infeed/count.h>
#include <infeed/pipeline/file_cache.h>

namespace infeed {

struct SnapshotOptions {
  /// A folder that gets a folder for each pipeline written there. It is made if it doesn't exist.
  std::string path;
  /// Mean the same as in FileCacheOptions.
  std::string version = {};
  Count shard_bytes = std::uint64_t{64} << 20;
  Compression compression = Compression::none;
  Durability durability = Durability::leave_to_system;
  std::function<void(const StoreEvent&)> on_event = {};
  StageName name = {};  ///< as in StageOptions
};

struct SnapshotSummary {
  std::string folder;          ///< for read_snapshot
  std::uint64_t elements = 0;  ///< errors included
  std::uint64_t errors = 0;
};

/// Why: preprocessing is done once and kept, as by cache({.path}), but each pipeline gets its own
/// folder below `path`, named by its fingerprint. So another version of the pipeline, or of its
/// files, neither reads nor overwrites these elements, and the old version finds its elements again.
///
///     dataset | infeed::map(decode) | infeed::snapshot({.path = "/data/snapshots"})
///
/// The shards are TFRecord files. Elements that are strings or Records are written as records
/// without change.
inline auto snapshot(SnapshotOptions options);

/// Preprocesses offline in one line: writes all elements (or the missing ones) and returns where
/// they are. Throws if the snapshot can't become complete.
///
///     infeed::write_snapshot(images | infeed::map(decode), {.path = "/data/decoded"});
template <class T>
SnapshotSummary write_snapshot(const Dataset<T>& dataset, SnapshotOptions options,
                               IterateOptions iterate = {});

/// Reads the elements of a complete snapshot, without the pipeline that made them. `path` is the
/// folder that write_snapshot returned, or a folder that holds a single snapshot. The number of
/// elements is known, and skipping reads almost nothing. A shard that can't be read is one
/// element's error, and the next shard follows.
///
/// Throws when it is described: not_found, or failed_precondition if the snapshot isn't complete,
/// holds another type, or is one of several.
template <class T>
Dataset<T> read_snapshot(const std::string& path, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

FileCacheOptions file_cache_options(SnapshotOptions options);
NodePointer make_read_snapshot(const std::string& path, const TypeInfo& type, ErasedCodec codec);
/// Reads the whole dataset, and throws if the snapshot isn't complete afterwards.
SnapshotSummary drain_snapshot(const NodePointer& node, IterateOptions options);

struct SnapshotStageFactory {
  using ComposesAsStage = void;
  SnapshotOptions options;

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    require_codec<Element>();
    if constexpr (kHasElementCodec<Element>) {
      return Dataset<Element>(make_file_cache("snapshot", file_cache_options(options),
                                              erased_codec<Element>(), input.node()));
    } else {
      return input;
    }
  }
};

}  // namespace detail

inline auto snapshot(SnapshotOptions options) {
  return named_stage(options.name, detail::SnapshotStageFactory{options});
}

template <class T>
SnapshotSummary write_snapshot(const Dataset<T>& dataset, SnapshotOptions options,
                               IterateOptions iterate) {
  const Dataset<T> written = dataset | snapshot(std::move(options));
  return detail::drain_snapshot(written.node(), std::move(iterate));
}

template <class T>
Dataset<T> read_snapshot(const std::string& path, StageOptions options) {
  detail::require_codec<T>();
  return Dataset<T>(detail::named(
      detail::make_read_snapshot(path, type_info<T>(), detail::erased_codec<T>()), options.name));
}

}  // namespace infeed
