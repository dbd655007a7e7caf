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

/// The state of a cache in files or a snapshot, for a log: the library itself prints nothing.
struct StoreEvent {
  enum class Kind {
    reading,    ///< it is complete and is read
    writing,    ///< it is empty and is written
    resuming,   ///< it is partly there, from a run that was ended or killed; the rest is written
    rewriting,  ///< another pipeline's elements were there; it is written anew
    finished,   ///< it has become complete
    busy,       ///< another pass is writing it; this pass goes without
    damaged,    ///< it can't be read from here on; this pass goes without, the next repairs damage
    /// The stored elements come from inner datasets that drew by other seeds than those of the
    /// checkpoint that this run goes on from. The run doesn't use the cache.
    other_draws,
    /// It can't be written (a full disk: a terminal error), or not beyond an error that may pass,
    /// which comes next or was left out.
    gave_up,
  };
  Kind kind;
  std::string folder;
  std::uint64_t elements;  ///< number of stored elements
  std::string message;     ///< a sentence for people
};

struct FileCacheOptions {
  /// A folder for this cache alone. It is made if it doesn't exist.
  std::string path;
  /// The action if the folder holds another pipeline's elements.
  enum class Mismatch {
    refuse,   ///< gives a terminal Error (failed_precondition) that names the difference
    rewrite,  ///< deletes them
  };
  Mismatch mismatch = Mismatch::refuse;
  /// Change it when a function of the pipeline gives other elements than before. Functions can't be
  /// compared; everything else about the stages before can.
  std::string version = {};
  /// The size of a shard. A killed run loses at most the shard that it is writing.
  Count shard_bytes = std::uint64_t{64} << 20;
  Compression compression = Compression::none;
  Durability durability = Durability::leave_to_system;
  /// Called by the thread that pulls; must not throw.
  std::function<void(const StoreEvent&)> on_event = {};
  StageName name = {};  ///< as in StageOptions
};

/// Why: this cache may be larger than memory, and lasts for the next run. The first pass writes
/// elements to record shards. All later passes read them from there, in this and any other process.
///
///     dataset | infeed::map(decode) | infeed::cache({.path = "/scratch/decoded"})
///
/// A cache survives being killed at any moment: complete shards stay, and the next pass continues
/// after them, without making their elements again. One pass at a time writes (others meanwhile
/// don't use the cache); any number read. The stages before the cache always run as in pass 0, as
/// with cache().
///
/// The folder remembers what it holds: the stages before with their options and the content of
/// their files (checkpoint.h), the type's layout and `version`. For another pipeline it is refused
/// or rewritten (Mismatch). Seeds that each program draws anew count as another pipeline, so give
/// shuffles before a cache a seed. The seeds of inner datasets (of flat_map, say) are stored with
/// the elements and used again. Damaged shards are made again. Errors are kept as elements, but for
/// those that may pass (unavailable, deadline_exceeded): the next pass goes on there, also where
/// skip_errors left one out before the cache. on_event is told all of this.
///
/// element_codec.h says which types can be written. Records keep their bytes; their file() and
/// offset() then name the cache.
inline auto cache(FileCacheOptions options);

// Only the library reads what follows.
namespace detail {

/// `name` is the stage's name: cache or snapshot. A snapshot adds a folder to `path`, named by a
/// hash of its identity.
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
