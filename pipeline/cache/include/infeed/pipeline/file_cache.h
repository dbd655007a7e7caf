#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/pipeline/element_codec.h>
#include <infeed/records/record_writer.h>

namespace infeed {

/// What became of a cache in files or a snapshot, for a log: the library itself prints nothing.
struct StoreEvent {
  enum class Kind {
    reading,    ///< it is complete and is read
    writing,    ///< it is not there and is written
    resuming,   ///< a part is there (of a run that was ended or killed); the rest is written
    rewriting,  ///< another pipeline's was there; it is written anew
    finished,   ///< it has become complete
    busy,       ///< somebody else is writing it; this pass goes without
    damaged,    ///< it can't be read from here on; this pass goes on without, the next repairs it
    /// Inner datasets drew by other seeds for what is there than those of the checkpoint that this run
    /// goes on from; it goes without.
    other_draws,
    gave_up,  ///< it can't be written (a full disk): where it was to be, a terminal error follows
  };
  Kind kind;
  std::string folder;
  std::uint64_t elements;  ///< that are there
  std::string message;     ///< a sentence for people
};

struct FileCacheOptions {
  /// The cache needs a folder of its own, which is made when it is not there.
  std::string path;
  /// What to do when the folder holds another pipeline's elements.
  enum class Mismatch {
    refuse,   ///< a terminal Error (failed_precondition) that names the difference
    rewrite,  ///< throw them away
  };
  Mismatch mismatch = Mismatch::refuse;
  /// Change it when a function of the pipeline gives other elements than before: functions can't be
  /// compared, all else about the stages before can.
  std::string version = {};
  /// A run that is killed loses at most the shard that it is writing.
  Count shard_bytes = std::uint64_t{64} << 20;
  Compression compression = Compression::none;
  Durability durability = Durability::leave_to_system;
  /// The thread that pulls calls it; it must not throw.
  std::function<void(const StoreEvent&)> on_event = {};
  StageName name = {};  ///< as in StageOptions
};

/// Why: this is a cache for more than memory holds, and for the next run, too: elements are written
/// to record shards by the first pass and read from there by all later ones, in this and any other
/// process.
///
///     dataset | infeed::map(decode) | infeed::cache({.path = "/scratch/decoded"})
///
/// It survives being killed at any moment: shards that are whole stay, and the next pass goes on
/// behind them, without making their elements again. One pass at a time writes (others meanwhile go
/// without); any number read. The stages before always run as in pass 0, as with cache().
///
/// The folder remembers what it holds: the stages before with their options and files, the type's
/// layout and `version`. For another pipeline it is refused or rewritten (Mismatch); seeds that are
/// drawn anew by each program count as another pipeline, so give shuffles before a cache a seed. By
/// what inner datasets drew (of flat_map, say) is stored with the elements, and drawn by again.
/// Damaged shards are made again. Errors are kept as elements. All of this is told to on_event.
///
/// Which types can be written is said in element_codec.h. Records keep their bytes; file() and
/// offset() then name the cache.
inline auto cache(FileCacheOptions options);

// Only the library reads what follows.
namespace detail {

/// `name` is that of the stage: cache or snapshot. A snapshot adds a folder of its own to `path`,
/// named by what it holds.
NodePointer make_file_cache(std::string name, FileCacheOptions options, ErasedCodec codec,
                            NodePointer input);

template <class Element>
constexpr void require_codec() {
  static_assert(
      kHasElementCodec<Element>,
      "infeed: an Element of this type can't be written to files; put the cache before the "
      "stage that makes them, or specialise infeed::ElementCodec");
}

struct FileCacheStageFactory {
  using ComposesAsStage = void;
  FileCacheOptions options;

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    require_codec<Element>();
    if constexpr (kHasElementCodec<Element>) {
      return Dataset<Element>(
          make_file_cache("cache", options, erased_codec<Element>(), input.node()));
    } else {
      return input;
    }
  }
};

}  // namespace detail

inline auto cache(FileCacheOptions options) {
  return named_stage(options.name, detail::FileCacheStageFactory{options});
}

}  // namespace infeed
