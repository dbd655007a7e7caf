#include "pipeline/batch/row_filling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/testing.h>
#include <infeed/records/column_schema.h>
#include <infeed/records/example.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/consumer.h"
#include "pipeline/suite/resumes_anywhere.h"
#include "pipeline/suite/stage_suite.h"
#include "records/on_core.h"

// Several threads must make of blocks of record files what one thread makes of the records one by
// one. A map between the source and the batches hides the blocks.
namespace infeed::test {
namespace {

struct FilledSequence {
  std::vector<std::int64_t> ids;
  std::int64_t length;
};

/// Shows batches as elements.h does, and errors with their places.
template <class B, class Show>
Stream shown(Iterator<B>& iterator, const Show& show) {
  Stream stream;
  while (true) {
    try {
      const auto batch = iterator.next();
      if (!batch) return stream;
      stream.push_back(show(*batch));
    } catch (const Error& error) {
      stream.push_back(std::string("! ") + std::string(error.message()) + " " +
                       std::string(error.file()) + " " +
                       std::to_string(error.record().value_or(0)));
    }
  }
}

std::string show_samples(const Batch<FilledSample>& batch) {
  std::string text = "[";
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const FilledSample sample = batch.row(i);
    text += std::to_string(sample.id) + ":" + std::to_string(sample.text.size()) + " ";
  }
  return text;
}

std::string show_sequences(const RaggedBatch<FilledSequence>& batch) {
  std::string text = "[";
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (const std::int64_t id : batch.column<0>().row(i)) text += std::to_string(id) + ",";
    text += " ";
  }
  return text;
}

/// Returns the first place at which they differ; empty if they are equal.
std::string difference(const Stream& got, const Stream& expected) {
  for (std::size_t i = 0; i < std::max(got.size(), expected.size()); ++i) {
    const std::string ours = i < got.size() ? got[i].substr(0, 300) : "the end";
    const std::string theirs = i < expected.size() ? expected[i].substr(0, 300) : "the end";
    if (i >= got.size() || i >= expected.size() || got[i] != expected[i]) {
      return std::to_string(i) + ": " + ours + "\nexpected: " + theirs;
    }
  }
  return {};
}

TEST_F(RowFilling, IsTheSameFromBlocksOfFilesAsFromRecords) {
  const auto samples = ExampleSchema<FilledSample>()
                           .feature("id", &FilledSample::id)
                           .feature("text", &FilledSample::text);
  const auto sequences = ExampleSchema<FilledSequence>()
                             .feature("ids", &FilledSequence::ids, {})
                             .feature("id", &FilledSequence::length);
  for (int round = 0; round < 16; ++round) {
    list_.clear();
    // Texts of up to 20 KB end outside blocks of 4 KiB; those of 40 leave a hundred in one.
    const RecordWriterOptions compression = draw_compression();
    write(4, 100 + random_.below(200), round % 2 == 0 ? 40 : 20'000, compression);
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (round >= 6 && random_.chance(0.5)) damage(list_[i]);
    }
    for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise,
                                      DamagePolicy::stop_like_tensorflow}) {
      const RecordsOptions options{.damage = policy, .block_bytes = 4096};
      const auto size = static_cast<std::int64_t>(1 + random_.below(100));
      const bool drop_remainder = random_.chance(0.3);
      const auto expected_samples = [&] {
        auto iterator = (without_blocks(source(options)) |
                         parse_batch(samples, size, {.drop_remainder = drop_remainder}))
                            .iterate();
        return shown(iterator, show_samples);
      }();
      const auto expected_sequences = [&] {
        auto iterator = (without_blocks(source(options)) |
                         parse_ragged_batch(sequences, size, {.drop_remainder = drop_remainder}))
                            .iterate();
        return shown(iterator, show_sequences);
      }();
      for (const std::int64_t parallelism : {1, 2, 4}) {
        SCOPED_TRACE("round " + std::to_string(round) + ", " +
                     std::string(to_string(compression.compression)) + ", size " +
                     std::to_string(size) + ", parallelism " + std::to_string(parallelism));
        const BatchIntoOptions how{.parallelism = parallelism, .drop_remainder = drop_remainder};
        auto from_blocks = (source(options) | parse_batch(samples, size, how)).iterate();
        ASSERT_EQ(difference(shown(from_blocks, show_samples), expected_samples), "");
        auto ragged = (source(options) | parse_ragged_batch(sequences, size, how)).iterate();
        ASSERT_EQ(difference(shown(ragged, show_sequences), expected_sequences), "");
      }
    }
  }
}

TEST_F(RowFilling, OfBlocksPassesTheSuite) {
  write(3, 60, 300);
  damage(list_[2]);
  const auto schema = ExampleSchema<FilledSample>()
                          .feature("id", &FilledSample::id)
                          .feature("text", &FilledSample::text);
  for (const std::int64_t parallelism : {1, 3}) {
    for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise}) {
      const RecordsOptions options{.damage = policy, .block_bytes = 4096};
      const auto ids = [](const Batch<FilledSample>& batch) {
        const auto column = batch.column(&FilledSample::id);
        return std::vector<std::int64_t>(column.begin(), column.end());
      };
      const Stream expected =
          stream_of(without_blocks(source(options)) | parse_batch(schema, 7) | map(ids));
      run_source_suite(
          [&] {
            return source(options) | parse_batch(schema, 7, {.parallelism = parallelism}) |
                   map(ids);
          },
          expected);
    }
  }
}

struct FilledImage {
  std::array<std::uint8_t, 700> pixels;
  std::array<float, 300> values;
  std::int64_t id;
};
struct FilledText {
  std::vector<std::uint8_t> text;
  std::int64_t id;
};

std::string show_images(const Batch<FilledImage>& batch) {
  std::string text;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const FilledImage image = batch.row(i);
    text += std::to_string(image.id) + std::string(image.pixels.begin(), image.pixels.end());
    text.append(reinterpret_cast<const char*>(image.values.data()), sizeof(image.values));
  }
  return text;
}
std::string show_texts(const RaggedBatch<FilledText>& batch) {
  std::string text;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto row = batch.column<0>().row(i);
    text += std::to_string(row.size()) + std::string(row.begin(), row.end());
  }
  return text;
}
std::string show_columns(const ColumnBatch& batch) {
  return std::to_string(batch.rows()) + " " + std::to_string(batch.hash());
}

/// A record with a large value is parsed before it is verified: nothing of a damaged one may stay.
TEST_F(RowFilling, CopiesLargeValuesWhileTheyAreVerified) {
  const auto images = ExampleSchema<FilledImage>()
                          .feature("pixels", &FilledImage::pixels)
                          .feature("values", &FilledImage::values)
                          .feature("id", &FilledImage::id);
  const auto texts = ExampleSchema<FilledText>()
                         .feature("text", &FilledText::text, {})
                         .feature("id", &FilledText::id);
  const auto dense = ColumnSchema()
                         .column("photo", DType::uint8, {70'000})
                         .column("values", DType::float32, {300})
                         .column("id", DType::int64);
  const auto growing = ColumnSchema().bytes("text").ragged("values", DType::float32);
  for (int round = 0; round < 8; ++round) {
    list_.clear();
    for (int f = 0; f < 3; ++f) {
      list_.push_back(folder_.file("images-" + std::to_string(f)));
      RecordWriter writer(list_.back(), {.existing = ExistingFile::replace});
      for (std::int64_t id = 0; id < 40; ++id) {
        ExampleBuilder builder;
        builder.bytes("pixels", random_text(random_.chance(0.02) ? 699 : 700));
        builder.bytes("photo", random_text(70'000));
        builder.bytes("text", random_text(random_.below(3000)));
        std::vector<float> values(300);
        for (float& value : values) value = static_cast<float>(random_.below(1000));
        builder.floats("values", std::span<const float>(values));
        builder.integers("id", id);
        writer.write(builder.encode());
      }
      writer.close();
      if (round >= 2 && f != 1) damage(list_.back());
    }
    const RecordsOptions options{
        .damage = round % 2 == 0 ? DamagePolicy::skip_and_resynchronise : DamagePolicy::fail,
        .map_files = round % 4 >= 2};
    const auto expect_same = [&](const auto& parse, const auto& show) {
      auto expected = (without_blocks(source(options)) | parse(1)).iterate();
      const Stream stream = shown(expected, show);
      for (const std::int64_t parallelism : {1, 3}) {
        auto from_blocks = (source(options) | parse(parallelism)).iterate();
        ASSERT_EQ(difference(shown(from_blocks, show), stream), "") << "round " << round;
      }
    };
    expect_same([&](Count n) { return parse_batch(images, 7, {.parallelism = n}); }, show_images);
    expect_same([&](Count n) { return parse_ragged_batch(texts, 7, {.parallelism = n}); },
                show_texts);
    expect_same([&](Count n) { return parse_columns(dense, 7, {.parallelism = n}); }, show_columns);
    expect_same([&](Count n) { return parse_columns(growing, 7, {.parallelism = n}); },
                show_columns);
  }
}

/// The others go on when it is over.
TEST_F(RowFilling, GoesOnBehindAShortBatchOfAnInputThatHasEnded) {
  const auto batches =
      range(27) | map([](std::int64_t x) { return x == 2 ? throw std::runtime_error("two") : x; }) |
      batch_into<std::int64_t>(
          17, [](const std::int64_t& x, const Row<std::int64_t>& row) { row.value() = x; });
  const auto lengths = batches | map([](const Batch<std::int64_t>& batch) {
                         return static_cast<std::int64_t>(batch.size());
                       });
  for (const std::uint64_t passed_over : {0, 1, 3, 11}) {
    const auto mixed = sample_from_datasets({lengths | skip(passed_over), range(6)}, {.seed = 4});
    const Stream expected = stream_of(mixed);
    expect_resumes_anywhere(mixed, expected, {.bookmark_every = 4});
  }
}

/// Elements, rows and whole batches fail.
Dataset<Batch<std::int64_t>> failing_now_and_then(Count parallelism) {
  return range(400) | map([](std::int64_t x) {
           if (x % 29 == 3) throw std::invalid_argument("element " + std::to_string(x));
           return x;
         }) |
         batch_into<std::int64_t>(7,
                                  [](const std::int64_t& x, const Row<std::int64_t>& row) {
                                    if (x % 31 == 5 || (x >= 140 && x < 165))
                                      throw std::invalid_argument("row " + std::to_string(x));
                                    row.value() = x;
                                  },
                                  {.parallelism = parallelism});
}

/// Returns the bookmarks of a checkpoint before each element, and behind the last one.
std::vector<std::vector<Bookmark>> bookmarks_at_each(Iterator<Batch<std::int64_t>> iterator) {
  std::vector<std::vector<Bookmark>> bookmarks;
  do {
    bookmarks.push_back(iterator.checkpoint().bookmarks);
  } while (!take_stream(iterator, 1).empty());
  return bookmarks;
}

/// However many batches come at once, and wherever a run begins.
TEST_F(RowFilling, BookmarksLieWhereTheInputSays) {
  const IterateOptions options{.bookmark_every = 16};
  const auto expected = bookmarks_at_each(failing_now_and_then(1).iterate(options));
  ASSERT_EQ(expected.back().size(), 1U);
  EXPECT_EQ(bookmarks_at_each(failing_now_and_then(3).iterate(options)), expected);
  auto straight = failing_now_and_then(3).iterate(options);
  for (std::size_t taken = 0; taken < expected.size(); ++taken, take_stream(straight, 1)) {
    const IterateOptions resumed{.resume = straight.checkpoint(), .bookmark_every = 16};
    EXPECT_EQ(bookmarks_at_each(failing_now_and_then(1).iterate(resumed)),
              std::vector(expected.begin() + static_cast<std::ptrdiff_t>(taken), expected.end()))
        << taken;
  }
}

/// A worker pulls before it writes what it has pulled. While it waits there, others write: a consumer
/// that polls, or that sleeps, which it does where a batch takes longer.
TEST_F(RowFilling, BatchesComeWhileTheInputWaits) {
  const Slots slots = plain_slots(4000);
  for (const std::int64_t work : {0, 5000}) {
    for (const std::int64_t parallelism : {2, 3}) {
      const auto write = [=](const std::int64_t& x, const Row<std::int64_t>& row) {
        volatile std::int64_t value = x;
        for (std::int64_t i = 0; i < work; ++i) value = value + 1;
        row.value() = value;
      };
      Gate gate;
      Consumer consumer((gated<std::int64_t>(slots, gate) |
                         batch_into<std::int64_t>(8, write, {.parallelism = parallelism}))
                            .iterate(),
                        &gate);
      for (std::size_t released = 0; released < slots.size();) {
        const std::size_t more =
            std::min<std::size_t>(1 + random_.below(100), slots.size() - released);
        gate.release(more);
        released += more;
        ASSERT_TRUE(consumer.wait_for(released / 8))
            << "behind " << released << " elements " << consumer.stream().size() << " batches came";
      }
      consumer.join();
    }
  }
}

TEST(BatchFiller, ACoreGetsTheMemoryThatItHadBefore) {
  const detail::BatchFiller filler(detail::batch_layout<std::int64_t>(), 100);
  std::vector<detail::BatchReference> batches;
  const auto take = [&] { batches.push_back(filler.take(100)); };
  const auto places = [&] { return std::vector{batches[0].column(0), batches[1].column(0)}; };
  const std::vector<int> cores = test::two_cores();
  for (const int core : cores) test::on_core(core, take);
  const auto expected = test::as_core_0_gets(places());
  for (detail::BatchReference& batch : batches) batch = {};
  batches.clear();
  for (int i = 0; i < 2; ++i) test::on_core(cores[0], take);
  EXPECT_EQ(places(), expected);
}

}  // namespace
}  // namespace infeed::test
