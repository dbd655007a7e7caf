#include "interleave/inner_buffers.h"

#include <gtest/gtest.h>

#include <infeed/pipeline/iterate_options.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

using detail::InnerBuffers;
using detail::InnerReadAhead;

/// Reads of one number each share a chunk. While places are kept, each has its own, which counts with
/// its room.
TEST(InnerBuffers, CountTheChunksThatTheyKeep) {
  const TypeInfo& type = type_info<std::int64_t>();
  const TemporaryFolder folder;
  for (const bool keeps_places : {false, true}) {
    SCOPED_TRACE(keeps_places);
    IterateOptions options;
    if (keeps_places) options.recording.file = folder.file("run.profile");
    IteratorContext run(options);
    detail::StageCounters counters;
    InnerBuffers buffers(run, counters, type);
    InnerReadAhead inner(type);
    Chunk chunk(type);
    for (std::int64_t number = 0; number < 3; ++number) {
      chunk.append(number);
      chunk.held().set(run.memory(), buffers.bytes_when_ready(chunk));
      buffers.add(inner, chunk, {});
    }
    EXPECT_EQ(buffers.bytes_when_ready(chunk), 0U) << "it was emptied";
    EXPECT_EQ(inner.ready.size(), keeps_places ? 3U : 1U);
    const std::uint64_t each = keeps_places ? Chunk(type).capacity() * type.size : type.size;
    EXPECT_EQ(inner.ready_bytes, 3 * each);
    EXPECT_EQ(run.memory().best_effort_bytes(), 3 * each);
    Chunk out(type);
    buffers.take(inner, out);
    EXPECT_EQ(out.held().bytes(), out.size() * type.size) << "a consumer takes it at once";
    EXPECT_EQ(inner.ready_bytes, keeps_places ? 2 * each : 0);
  }
}

}  // namespace
}  // namespace infeed::test
