#include <algorithm>
#include <array>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/padded_batch.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/ragged_batch.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/rebatch.h>
#include <infeed/pipeline/sample_from_datasets.h>
#include <infeed/pipeline/unbatch.h>

#include "measured_case.h"

// Batches, whose memory is pooled.
namespace infeed::memory_limit {
namespace {

using std::chrono::milliseconds;

/// 1 MiB, so that a batch of one row is 1 MiB, too.
struct Block {
  std::array<std::uint8_t, kMiB> bytes;
};

using Images = Dataset<Batch<Image>>;

Images images(std::int64_t batch_size, std::int64_t parallelism) {
  const auto draw = [](std::int64_t number, const Row<Image>& row) {
    row.column(&Image::pixels).fill(static_cast<float>(number));
  };
  return range(INT64_MAX) | batch_into<Image>(batch_size, draw, {.parallelism = parallelism});
}

constexpr std::int64_t kFillers = 2;  ///< threads that fill the batches of one stage

/// Rows are written into their batch: only the consumer's own batch comes on top.
MemoryCase image_case(const std::string& name, std::uint64_t limit_mib, std::uint64_t batch_size,
                      std::function<Images()> make, const Consumer& consumer) {
  return {.name = name,
          .limit_bytes = limit_mib * kMiB,
          .consumer_bytes = batch_size * sizeof(Image),
          .run = [make = std::move(make), consumer](const MemoryCase& of) {
            return measure(of, make(), consumer);
          }};
}

Images behind_five_prefetches() {
  return images(64, kFillers) | prefetch(4) | prefetch(4) | prefetch(4) | prefetch(4) | prefetch(4);
}

Images sample_of_ten() {
  std::vector<Images> all;
  for (int i = 0; i < 10; ++i) all.push_back(images(128, kFillers));
  return sample_from_datasets(all, {.seed = 1}) | prefetch();
}

Images rebatched() { return images(64, kFillers) | rebatch(96) | prefetch(); }

/// Takes 64 batches and keeps them, gives all back, and goes on with few.
Figures hold_many_then_few(const MemoryCase& of, const Dataset<Batch<Block>>& dataset) {
  Meter meter;
  {
    auto iterator = dataset.iterate();
    {
      std::vector<Batch<Block>> held;
      for (int i = 0; i < 64; ++i) held.push_back(*iterator.next());
      iterator.set_memory_limit(of.limit_bytes);
    }
    for (int i = 0; i < 8; ++i) iterator.next();  // taking batches uses up those kept ready
    meter.restart_peaks();
    consume(iterator, {.elements_max = 100, .step = milliseconds(2)}, meter);
    meter.note_account(iterator.memory());
    meter.note_peaks();
  }
  return meter.end();
}

MemoryCase once_held_many() {
  return {.name = "a consumer that once held 64 batches",
          .limit_bytes = 8 * kMiB,
          .run = [](const MemoryCase& of) {
            const auto fill = [](std::int64_t number, const Row<Block>& row) {
              row.column(&Block::bytes).fill(static_cast<std::uint8_t>(number));
            };
            return hold_many_then_few(
                of, range(INT64_MAX) | batch_into<Block>(1, fill, {.parallelism = kFillers}) |
                        prefetch());
          }};
}

struct Sequence {
  std::vector<std::uint8_t> values;
};

constexpr std::uint64_t kLongBytes = 40'000'000;

/// One sequence of a hundred is long.
Sequence one_long(std::int64_t number) {
  return {std::vector<std::uint8_t>(number == 50 ? kLongBytes : 1000, 1)};
}

MemoryCase padded() {
  return {.name = "padded_batch(32), one element of 40 MB",
          .limit_bytes = 200 * kMiB,
          .calls = 1,
          .element_bytes = kLongBytes,
          .on_top = "the element",
          .may_refuse = true,
          .run = [](const MemoryCase& of) {
            return measure(of, range(200) | map(&one_long) | padded_batch(32) | prefetch(), {});
          }};
}

MemoryCase batches_of_large_vectors() {
  constexpr std::uint64_t kVectorBytes = 100'000'000;
  return {.name = "batch(8) of vectors of 100 MB",
          .limit_bytes = 200 * kMiB,
          .calls = 1,
          .element_bytes = kVectorBytes,
          .on_top = "a vector",
          .may_refuse = true,
          .run = [](const MemoryCase& of) {
            const auto make = [](std::int64_t) {
              return std::vector<std::uint8_t>(kVectorBytes, 1);
            };
            return measure(of, range(16) | map(make) | batch(8), {});
          }};
}

MemoryCase ragged() {
  constexpr std::uint64_t kRowBytesMax = 100'000;
  return {.name = "ragged_batch(32) of up to 100 KB, map x2, prefetch",
          .limit_bytes = 24 * kMiB,
          .calls = 2,
          .element_bytes = 32 * kRowBytesMax,
          .on_top = "a batch a call",
          .run = [](const MemoryCase& of) {
            const auto make = [](std::int64_t number) {
              const auto bytes = static_cast<std::size_t>(number * 7919) % kRowBytesMax;
              return Sequence{std::vector<std::uint8_t>(bytes, 1)};
            };
            const auto same = [](RaggedBatch<Sequence> batch) { return batch; };
            const auto all = range(INT64_MAX) | map(make) | ragged_batch(32) |
                             map(same, {.parallelism = 2}) | prefetch(100);
            return measure(of, all, {.elements_max = 300, .step = milliseconds(3)});
          }};
}

MemoryCase unbatched() {
  return {.name = "batch_into(128), unbatch, prefetch",
          .limit_bytes = 256 * kMiB,
          .calls = 1,
          .element_bytes = sizeof(Image),
          .on_top = "an image",
          .run = [](const MemoryCase& of) {
            return measure(
                of, images(128, kFillers) | unbatch() | prefetch(1000),
                {.elements_max = 900, .step = milliseconds(20), .elements_per_step = 16});
          }};
}

}  // namespace

std::vector<MemoryCase> batch_cases() {
  const auto prefetched = [](std::int64_t size) {
    return [size] { return images(size, kFillers) | prefetch(2); };
  };
  return {
      image_case("batch_into(128), prefetch, slow consumer", 128, 128, prefetched(128),
                 {.elements_max = 12, .step = milliseconds(120)}),
      image_case("batch_into(512), prefetch, slow consumer", 512, 512, prefetched(512),
                 {.elements_max = 4, .step = milliseconds(500)}),
      image_case("five prefetches behind batch_into(64)", 64, 64, behind_five_prefetches,
                 {.elements_max = 20, .step = milliseconds(100)}),
      image_case("a sample of ten batch_into(128)", 1024, 128, sample_of_ten,
                 {.elements_max = 16, .step = milliseconds(100)}),
      image_case("batch_into(64), rebatch(96), prefetch", 200, 96, rebatched,
                 {.elements_max = 16, .step = milliseconds(80)}),
      once_held_many(),
      padded(),
      batches_of_large_vectors(),
      ragged(),
      unbatched(),
  };
}

}  // namespace infeed::memory_limit
