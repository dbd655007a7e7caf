#include <fmt/format.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "counting_memory.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

// Stages fill their batches in memory of the program's.
namespace infeed::test {
namespace {

struct Sentence {
  std::vector<std::int32_t> tokens;
  std::int64_t label = 0;
};
struct Point {
  double x = 0;
  std::int32_t y = 0;
};

struct Labelled {
  std::int64_t label = 0;
};

Sentence sentence(std::int64_t n) {
  Sentence made{std::vector<std::int32_t>(static_cast<std::size_t>(n % 7)), n};
  std::iota(made.tokens.begin(), made.tokens.end(), static_cast<std::int32_t>(n));
  return made;
}
Dataset<Sentence> sentences() { return range(100) | map(sentence); }
Dataset<Point> points() {
  return range(100) | map([](std::int64_t n) {
           return Point{0.5 * static_cast<double>(n), static_cast<int>(n)};
         });
}

ExampleSchema<Sentence> sentence_schema() {
  return ExampleSchema<Sentence>()
      .feature("tokens", &Sentence::tokens)
      .feature("label", &Sentence::label);
}
ColumnSchema column_schema() {
  return ColumnSchema().ragged("tokens", DType::int32).column("label", DType::int64).bytes("text");
}

struct Written {
  std::vector<std::int32_t> tokens;
  std::int64_t label = 0;
  std::string text;
};

/// Files of a hundred sentences.
class Files {
 public:
  Files() {
    RecordWriter writer(records);
    std::string json;
    std::string csv = "label,score,text\n";
    for (std::int64_t n = 0; n < 100; ++n) {
      const Sentence one = sentence(n);
      writer.write(ExampleSchema<Written>()
                       .feature("tokens", &Written::tokens)
                       .feature("label", &Written::label)
                       .feature("text", &Written::text)
                       .encode({one.tokens, n, "words"}));
      json += fmt::format("{{\"tokens\": [{}], \"label\": {}, \"text\": \"words\"}}\n",
                          fmt::join(one.tokens, ","), n);
      csv += fmt::format("{},0.5,words\n", n);
    }
    writer.close();
    write_whole(json_lines_file, json);
    write_whole(csv_file, csv);
  }

 private:
  TemporaryFolder folder_;

 public:
  const std::string records = folder_.file("records");
  const std::string json_lines_file = folder_.file("lines.jsonl");
  const std::string csv_file = folder_.file("table.csv");
};

template <class T>
std::size_t outside(const Batch<T>& batch, const CountingMemory& memory) {
  std::size_t count = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((count +=
      memory.holds(batch.template column<I>().data(), batch.template column<I>().size_bytes()) ? 0
                                                                                               : 1),
     ...);
  }
  (std::make_index_sequence<Batch<T>::kColumns>());
  return count;
}

template <class T, template <class> class Sequence>
std::size_t outside(const SequenceBatch<T, Sequence>& batch, const CountingMemory& memory) {
  std::size_t count = 0;
  detail::visit_columns(batch, [&](const auto& column) {
    detail::visit_parts(column, [&](auto values) {
      if (!values.empty() && !memory.holds(values.data(), values.size_bytes())) ++count;
    });
  });
  return count;
}

std::size_t outside(const ColumnBatch& batch, const CountingMemory& memory) {
  std::size_t count = 0;
  for (const Column& column : batch.columns()) {
    if (!memory.holds(column.values().data(), column.values().bytes())) ++count;
    for (const Tensor& part : column.partitions()) {
      if (!memory.holds(part.data(), part.bytes())) ++count;
    }
  }
  return count;
}

/// All parts of all batches of `describe(memory)` lie in the memory, have the values that they have
/// without it, count in the account as they do without it, and go back.
template <class Describe>
void expect_in_memory(const char* stage, const Describe& describe) {
  SCOPED_TRACE(stage);
  const auto run = [&](const BatchMemory& memory, const auto& look) {
    auto iterator = describe(memory).iterate({.executor = Executor::inline_(), .order_hash = true});
    std::vector<typename std::decay_t<decltype(*iterator.next())>> last;
    std::size_t batches = 0;
    while (auto batch = iterator.next()) {
      look(*batch);
      ++batches;
      if (batches == 2) last.push_back(*batch);
    }
    EXPECT_GT(batches, 3U);
    const auto peak = iterator.memory().peak_bytes();
    const std::uint64_t hash = iterator.order_hash();
    iterator = {};
    return std::tuple(hash, peak, std::move(last));
  };
  const auto memory = std::make_shared<CountingMemory>();
  {
    const auto [hash, peak, kept] =
        run(memory, [&](const auto& batch) { EXPECT_EQ(outside(batch, *memory), 0U); });
    EXPECT_EQ(outside(kept.at(0), *memory), 0U) << "a batch outlives its iterator";
    const auto [plain_hash, plain_peak, plain_kept] = run(nullptr, [](const auto&) {});
    EXPECT_EQ(hash, plain_hash);
    EXPECT_EQ(peak, plain_peak);
  }
  EXPECT_GT(memory->allocations(), 0U);
  EXPECT_EQ(memory->held_bytes(), 0U);
  EXPECT_EQ(memory->faults(), 0U);
  EXPECT_EQ(memory.use_count(), 1);
}

TEST(BatchMemory, EveryStageFillsItsBatchesThere) {
  expect_in_memory("batch",
                   [](BatchMemory memory) { return points() | batch(8, {.memory = memory}); });
  expect_in_memory("batch_into", [](BatchMemory memory) {
    return range(100) | batch_into<Point>(8,
                                          [](std::int64_t n, const Row<Point>& row) {
                                            row.column(&Point::x) = static_cast<double>(n);
                                            row.column(&Point::y) = 1;
                                          },
                                          {.memory = memory});
  });
  expect_in_memory("rebatch of a batch", [](BatchMemory memory) {
    return points() | batch(8) | rebatch(5, {.memory = memory});
  });
  expect_in_memory("padded_batch", [](BatchMemory memory) {
    return sentences() | padded_batch(8, {.memory = memory});
  });
  expect_in_memory("ragged_batch", [](BatchMemory memory) {
    return sentences() | ragged_batch(8, {.memory = memory});
  });
  expect_in_memory("rebatch of a padded batch", [](BatchMemory memory) {
    return sentences() | padded_batch(8) | rebatch(5, {.memory = memory});
  });
  expect_in_memory("rebatch of a ragged batch", [](BatchMemory memory) {
    return sentences() | ragged_batch(8) | rebatch(5, {.memory = memory});
  });
  expect_in_memory("bucket_by_sequence_length", [](BatchMemory memory) {
    return sentences() |
           bucket_by_sequence_length([](const Sentence& s) { return s.tokens.size(); },
                                     {.boundaries = {4}, .batch_sizes = {8, 4}, .memory = memory});
  });
  expect_in_memory("pack", [](BatchMemory memory) {
    return sentences() | map([](const Sentence& s) { return s.tokens; }) |
           pack(3, {.length = 8, .columns = {{"tokens"}}, .memory = memory});
  });
}

TEST(BatchMemory, EveryStageThatParsesFillsItsBatchesThere) {
  const Files files;
  expect_in_memory("parse_batch", [&](BatchMemory memory) {
    return records(files.records) |
           parse_batch(ExampleSchema<Labelled>().feature("label", &Labelled::label), 8,
                       {.memory = memory});
  });
  expect_in_memory("parse_columns", [&](BatchMemory memory) {
    return records(files.records) | parse_columns(column_schema(), 8, {.memory = memory});
  });
  expect_in_memory("rebatch of columns", [&](BatchMemory memory) {
    return records(files.records) | parse_columns(column_schema(), 8) |
           rebatch(13, {.memory = memory});
  });
  expect_in_memory("parse_ragged_batch", [&](BatchMemory memory) {
    return records(files.records) | parse_ragged_batch(sentence_schema(), 8, {.memory = memory});
  });
  expect_in_memory("parse_padded_batch", [&](BatchMemory memory) {
    return records(files.records) | parse_padded_batch(sentence_schema(), 8, {.memory = memory});
  });
  expect_in_memory("json_lines", [&](BatchMemory memory) {
    return json_lines(files.json_lines_file, column_schema(), 8, {.memory = memory});
  });
  expect_in_memory("csv", [&](BatchMemory memory) {
    return csv(
        files.csv_file,
        ColumnSchema().column("label", DType::int64).column("score", DType::float32).bytes("text"),
        8, {.memory = memory});
  });
}

TEST(BatchMemory, ItsEndIsAnErrorOfTheRun) {
  const auto error_with = [](const auto& describe) {
    const auto memory = std::make_shared<CountingMemory>(10'000);
    auto iterator = describe(BatchMemory(memory)).iterate();
    const Error error = error_of([&] {
      while (iterator.next()) {
      }
    });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_EQ(memory->faults(), 0U);
    return error.message();
  };
  EXPECT_THAT(
      error_with([](BatchMemory memory) { return range(5000) | batch(4000, {.memory = memory}); }),
      testing::HasSubstr("batch: there is no memory for a batch of 4000 rows (32000 bytes) "
                         "in the memory resource that the stage was given; make it smaller"));
  EXPECT_THAT(error_with([](BatchMemory memory) {
                return sentences() | padded_batch(90, {.widths = {5000}, .memory = memory});
              }),
              testing::HasSubstr("there is no memory for a column of 1800000 bytes in the memory "
                                 "resource that the stage was given; make the batch smaller"));
  const Files files;
  for (const std::int64_t threads : {1, 2}) {
    EXPECT_THAT(error_with([&](BatchMemory memory) {
                  return records(files.records) |
                         parse_columns(ColumnSchema().column("label", DType::int64), 4000,
                                       {.parallelism = threads, .memory = memory});
                }),
                testing::HasSubstr("in the memory resource that the stage was given"));
  }
}

/// A segment that other processes map by its descriptor.
class SharedSegment final : public std::pmr::memory_resource {
 public:
  explicit SharedSegment(std::size_t bytes)
      : file_(::memfd_create("batches", MFD_CLOEXEC)), bytes_(bytes) {
    EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(bytes)), 0);
    base_ = map_whole(MAP_SHARED);
  }
  ~SharedSegment() override {
    ::munmap(base_, bytes_);
    ::close(file_);
  }

  std::byte* map_whole(int kind) const {
    void* const base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kind, file_, 0);
    return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
  }
  std::size_t offset_of(const void* data) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(data) - base_);
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    const std::size_t begin = (taken_ + alignment - 1) / alignment * alignment;
    if (bytes > bytes_ - begin) throw std::bad_alloc();
    taken_ = begin + bytes;
    return base_ + begin;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const int file_;
  const std::size_t bytes_;
  std::byte* base_ = nullptr;
  std::mutex mutex_;
  std::size_t taken_ = 0;
};

TEST(BatchMemory, AnotherProcessReadsASharedSegment) {
  const auto segment = std::make_shared<SharedSegment>(std::size_t{1} << 20);
  int offsets[2];
  int sums[2];
  ASSERT_EQ(::pipe(offsets), 0);
  ASSERT_EQ(::pipe(sums), 0);
  const pid_t reader = ::fork();
  if (reader == 0) {
    ::close(offsets[1]);
    const std::byte* const base = segment->map_whole(MAP_SHARED);  // at another address
    for (std::size_t place[2]; ::read(offsets[0], place, sizeof place) == sizeof place;) {
      const auto* const values = reinterpret_cast<const std::int64_t*>(base + place[0]);
      const std::int64_t sum = std::accumulate(values, values + place[1], std::int64_t{0});
      if (::write(sums[1], &sum, sizeof sum) != sizeof sum) ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(offsets[0]);
  std::int64_t all = 0;
  for (const auto& batch : (range(1000) | batch(64, {.memory = segment}) | prefetch()).iterate()) {
    const std::size_t place[2] = {segment->offset_of(batch.values().data()), batch.size()};
    ASSERT_EQ(::write(offsets[1], place, sizeof place), static_cast<ssize_t>(sizeof place));
    std::int64_t sum = 0;
    ASSERT_EQ(::read(sums[0], &sum, sizeof sum), static_cast<ssize_t>(sizeof sum));
    EXPECT_EQ(sum, std::accumulate(batch.values().begin(), batch.values().end(), std::int64_t{0}));
    all += sum;
  }
  EXPECT_EQ(all, 999 * 1000 / 2);
  for (const int end : {offsets[1], sums[0], sums[1]}) ::close(end);
  int status = 0;
  EXPECT_EQ(::waitpid(reader, &status, 0), reader);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace infeed::test
