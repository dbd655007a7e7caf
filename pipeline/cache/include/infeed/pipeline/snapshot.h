#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <infeed/count.h>
#include <infeed/pipeline/file_cache.h>

namespace infeed {

struct SnapshotOptions {
  /// It holds a folder for each pipeline that was ever written there, and is made when it is not
  /// there.
  std::string path;
  /// These mean what they mean in FileCacheOptions.
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

/// Why: preprocessing is done once and kept, as by cache({.path}), but each pipeline gets a folder
/// of its own below `path`, named by its fingerprint. So another version of the pipeline neither
/// reads nor overwrites what this one wrote, and going back to the old version finds its elements
/// again.
///
///     dataset | infeed::map(decode) | infeed::snapshot({.path = "/data/snapshots"})
///
/// The shards are TFRecord files; elements that are strings or Records are their records as they
/// are.
inline auto snapshot(SnapshotOptions options);

/// Offline preprocessing in a line: writes all elements (or what is missing of them) and says where
/// they lie. Throws what keeps the snapshot from becoming complete.
///
///     infeed::write_snapshot(images | infeed::map(decode), {.path = "/data/decoded"});
template <class T>
SnapshotSummary write_snapshot(const Dataset<T>& dataset, SnapshotOptions options,
                               IterateOptions iterate = {});

/// The elements of a complete snapshot, without the pipeline that made them. `path` is the folder
/// that write_snapshot gave, or one that holds a single snapshot. Their number is known, and
/// skipping reads almost nothing. A shard that can't be read is one element's error, and the next
/// follows.
///
/// When it is described, it throws not_found, or failed_precondition (the snapshot is not complete,
/// holds another type, or there are several).
template <class T>
Dataset<T> read_snapshot(const std::string& path, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

FileCacheOptions file_cache_options(SnapshotOptions options);
NodePointer make_read_snapshot(const std::string& path, const TypeInfo& type, ErasedCodec codec);
/// Goes through the dataset, and throws when the snapshot is not complete afterwards.
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
