#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/infeed.h>

#include "pipeline/cache/file_cache_fixture.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Kind = StoreEvent::Kind;
using Mismatch = FileCacheOptions::Mismatch;

TEST_F(FileCache, PassesTheSuite) {
  const auto check = [this]<class T>(std::type_identity<T>, std::vector<std::size_t> sizes) {
    run_stage_suite_on<T>(
        [this](auto dataset) {
          return dataset | cache({.path = fresh(), .shard_bytes = 20 * sizeof(T) + 300});
        },
        [](const Slots& in) { return show_all(in); }, {.sizes = std::move(sizes)});
  };
  check(std::type_identity<std::int64_t>(), {0, 1, 5, 41});
  check(std::type_identity<std::string>(), {33});
  check(std::type_identity<Wide>(), {33});
}

TEST_F(FileCache, PassesTheSuiteWhenItIsReadAgain) {
  run_stage_suite_on<std::int64_t>(
      [this](auto dataset) {
        return dataset | cache({.path = fresh(), .shard_bytes = 500}) | repeat(2);
      },
      show_twice, {.sizes = {0, 1, 5, 41}});
}

TEST_F(FileCache, PassesTheSuiteOnceItIsComplete) {
  const FileCacheOptions options{.path = fresh(), .shard_bytes = 400};
  const auto make = [&] {
    return range(300) | map([](std::int64_t x) {
             if (x % 50 == 20 || x == 299) throw std::runtime_error("no " + std::to_string(x));
             return x;
           }) |
           cache(options);
  };
  const Stream expected = stream_of(make());
  EXPECT_EQ(expected[299], "! no 299");
  run_source_suite(make, expected);
}

TEST_F(FileCache, ElementsAreMadeOnceForAllProcesses) {
  const FileCacheOptions options = noting(fresh());
  const Stream expected = stream_of(doubles(100) | cache(options));
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::finished));
  EXPECT_EQ(elements_, 100);
  // Another dataset, as in another process.
  EXPECT_EQ(stream_of(doubles(100) | cache(options) | repeat(2)).size(), 200);
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading, Kind::reading));
  EXPECT_EQ(stream_of(doubles(100) | cache(options)), expected);
  EXPECT_EQ(calls_, 100);
  EXPECT_GT(shards(options.path).size(), 3);
}

TEST_F(FileCache, IsCompleteWithTheLastElementThatIsKnownToCome) {
  const FileCacheOptions options = noting(fresh());
  stream_of(doubles(100) | cache(options) | take(100));
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::finished));
}

TEST_F(FileCache, APassThatStopsEarlyIsGoneOnWith) {
  const FileCacheOptions options = noting(fresh());
  stream_of(doubles(1000) | cache(options) | take(400));
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing));
  calls_ = 0;
  EXPECT_EQ(stream_of(doubles(1000) | cache(options)), stream_of(doubles(1000)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::resuming, Kind::finished));
  EXPECT_LT(calls_, 1000 + 650) << "those that were stored are not made again";
}

TEST_F(FileCache, ErrorsCountOnceWhereWritingGoesOn) {
  const auto tenth_fails = [](std::int64_t x) {
    if (x % 10 == 3) throw std::runtime_error("no " + std::to_string(x));
    return x;
  };
  for (const bool are_left_out : {false, true}) {
    SCOPED_TRACE(are_left_out);
    const FileCacheOptions options = noting(fresh());
    const auto make = [&] {
      const auto input = range(200) | map(tenth_fails);
      return (are_left_out ? input | skip_errors() : input) | cache(options);
    };
    stream_of(make() | take(130));
    stream_of(make());
    EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::resuming, Kind::finished));
    auto reader = make().iterate();
    reader.next();
    EXPECT_EQ(reader.checkpoint().errors, 20U);
    EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
  }
}

/// All but the first of 3,000 fail.
Dataset<std::int64_t> hardly_any() {
  return range(3000) | map([](std::int64_t x) {
           if (x > 0) throw std::runtime_error("no " + std::to_string(x));
           return x;
         });
}

TEST_F(FileCache, ErrorsGoToTheJournalBeforeTheirShardIsThere) {
  const FileCacheOptions options = noting(fresh());
  const Stream expected = stream_of(hardly_any());
  EXPECT_EQ(stream_of(hardly_any() | cache(options) | take(2500)).size(), 2500U);
  EXPECT_GT(std::filesystem::file_size(options.path + "/elements.journal"), 50'000U);
  // They don't count, since no shard is there.
  EXPECT_EQ(stream_of(hardly_any() | cache(options)), expected);
  EXPECT_EQ(stream_of(hardly_any() | cache(options)), expected);
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::resuming, Kind::finished, Kind::reading));
}

TEST_F(FileCache, CountsTheErrorsThatItReads) {
  const auto dataset = hardly_any() | cache({.path = fresh()});
  stream_of(dataset);
  auto iterator = dataset.iterate();
  EXPECT_EQ(take_stream(iterator, 1), Stream{"0"});
  EXPECT_GE(iterator.memory().in_use_bytes(), 2999 * sizeof(Error));
  const Stream refused = stream_of(dataset, {.memory_bytes_max = 64 << 10});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(refused[0], StartsWith("!! cache needs"));
}

TEST_F(FileCache, ErrorsKeepEverythingTheySay) {
  const FileCacheOptions options = noting(fresh());
  const auto make = [&] {
    return range(60) | map([](std::int64_t x) -> std::int64_t {
             if (x % 20 != 7) return x;
             throw Error(ErrorCode::data_loss, "line 1\nline 2\t\\n")
                 .at_file("a\tfile")
                 .at_offset(12)
                 .at_record(3)
                 .at_stage("there");
           }) |
           cache(options);
  };
  const Stream first = stream_of(make());
  EXPECT_EQ(stream_of(make()), first);
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::finished, Kind::reading));
  Iterator<std::int64_t> iterator = make().iterate();
  take_stream(iterator, 27);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(), "line 1\nline 2\t\\n");
  EXPECT_EQ(error.file(), "a\tfile");
  EXPECT_EQ(error.stage(), "there");
  EXPECT_EQ(error.offset(), 12);
  EXPECT_EQ(error.record(), 3);
}

TEST_F(FileCache, SurvivesBeingKilled) {
  SeededRandom random;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const FileCacheOptions options = noting(fresh());
    const auto make = [&](std::int64_t killed_at) {
      return range(300) | map([=](std::int64_t x) {
               if (x == killed_at) ::kill(::getpid(), SIGKILL);
               if (x % 30 == 11) throw std::runtime_error("no " + std::to_string(x));
               return x;
             }) |
             cache(options);
    };
    for (int kills = 0; kills < 3; ++kills) {
      const std::int64_t killed_at = random.between(0, 299);
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        stream_of(make(killed_at), {.executor = Executor::inline_()});
        ::_exit(0);  // not killed: an earlier run stored more than killed_at
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    const Stream expected = stream_of(range(300) | map([](std::int64_t x) {
                                        if (x % 30 == 11) {
                                          throw std::runtime_error("no " + std::to_string(x));
                                        }
                                        return x;
                                      }));
    EXPECT_EQ(stream_of(make(-1)), expected);
    EXPECT_EQ(stream_of(make(-1)), expected);
    EXPECT_EQ(kinds().back(), Kind::reading);
    for (const auto& shard : shards(options.path)) {
      EXPECT_FALSE(shard.filename().string().starts_with('.')) << shard << " was left";
    }
  }
}

TEST_F(FileCache, AnotherPipelinesIsRefusedWithTheDifference) {
  const std::string path = fresh();
  stream_of(range(10) | cache(noting(path)));
  const Stream refused = stream_of(range(11) | cache(noting(path)));
  ASSERT_EQ(refused.size(), 1);
  EXPECT_THAT(refused[0], StartsWith("!! the folder holds the elements of another pipeline: it has "
                                     "'stage range(start=0, step=1, count=10)' where this one has "
                                     "'stage range(start=0, step=1, count=11)'"));
  const auto as_text = range(10) | map([](std::int64_t x) { return std::to_string(x); });
  EXPECT_THAT(stream_of(as_text | cache(noting(path)))[0],
              HasSubstr("it has 'elements i64' where this one has 'elements string'"));
  FileCacheOptions newer = noting(path);
  newer.version = "2";
  EXPECT_THAT(stream_of(range(10) | cache(newer))[0],
              HasSubstr("it has '(nothing)' where this one has 'version 2'"));
  EXPECT_EQ(stream_of(range(10) | cache(noting(path))), stream_of(range(10)));
}

TEST_F(FileCache, AnotherPipelinesIsRewrittenWhenAllowed) {
  const std::string path = fresh();
  stream_of(range(200) | cache(noting(path)));
  kinds();
  FileCacheOptions options = noting(path);
  options.mismatch = Mismatch::rewrite;
  EXPECT_EQ(stream_of(range(100) | cache(options)), stream_of(range(100)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::rewriting, Kind::finished));
  EXPECT_EQ(stream_of(range(100) | cache(options)), stream_of(range(100)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
}

TEST_F(FileCache, AFolderOfOthersIsLeftAlone) {
  const std::string path = fresh();
  std::filesystem::create_directory(path);
  write_whole(path + "/elements.journal", "my diary\n");
  FileCacheOptions options = noting(path);
  options.mismatch = Mismatch::rewrite;
  const Stream refused = stream_of(range(3) | cache(options));
  ASSERT_EQ(refused.size(), 1);
  EXPECT_THAT(refused[0], HasSubstr("does not begin with the line 'infeed elements 1'"));
  EXPECT_EQ(read_whole(path + "/elements.journal"), "my diary\n");
}

TEST_F(FileCache, WhileSomebodyWritesOthersGoWithout) {
  const FileCacheOptions options = noting(fresh());
  const auto dataset = doubles(10'000) | cache(options);
  Iterator<std::int64_t> writer = dataset.iterate();
  Stream first = take_stream(writer, 50);
  kinds();
  EXPECT_EQ(stream_of(dataset), stream_of(doubles(10'000)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::busy));
  const Stream rest = take_stream(writer);
  first.insert(first.end(), rest.begin(), rest.end());
  EXPECT_EQ(first, stream_of(dataset));
  EXPECT_THAT(kinds(), ElementsAre(Kind::finished, Kind::reading));
}

TEST_F(FileCache, WhatCannotBeWrittenIsTerminal) {
  folder_.write("a file", "");
  const FileCacheOptions options = noting(folder_.file("a file/cache"));
  const Stream stream = stream_of(range(5) | cache(options) | skip_errors());
  ASSERT_EQ(stream.size(), 1);
  EXPECT_THAT(stream[0], StartsWith("!! the elements can't be stored: cannot make the folder: a "
                                    "part of the path is a file"));
  EXPECT_THAT(kinds(), ElementsAre(Kind::gave_up));
  const Error error = error_of([] { range(1) | cache({}); });
  EXPECT_EQ(error.message(), "cache: path is empty; give a folder");
}

TEST_F(FileCache, DoesNotDependOnThePassThatWritesIt) {
  const auto make = [&](const std::string& path) {
    return range(50) | shuffle({.buffer = 50, .seed = 1}) | cache({.path = path}) | repeat(3);
  };
  const Stream all = stream_of(make(fresh()));
  EXPECT_EQ(Stream(all.begin(), all.begin() + 50), Stream(all.begin() + 100, all.end()));
  run_source_suite([&] { return make(fresh()); }, all);
}

TEST_F(FileCache, ShardsOfRecordsAreOrdinaryRecordFiles) {
  const FileCacheOptions options{.path = fresh(), .compression = Compression::gzip};
  const auto texts = range(100) | map([](std::int64_t x) { return std::to_string(x); });
  stream_of(texts | cache(options));
  std::int64_t next = 0;
  for (const Record& record : records(options.path + "/data-*").iterate()) {
    EXPECT_EQ(record.bytes(), std::to_string(next++));
  }
  EXPECT_EQ(next, 100);
  const auto again = texts | cache(options);
  EXPECT_EQ(stream_of(again), stream_of(texts));
}

// The folder may have been downloaded.
TEST_F(FileCache, APlantedLinkIsNotFollowed) {
  for (const std::string name : {"lock", "elements.journal", ".elements.journal.partial"}) {
    const std::string path = fresh();
    const std::string victim = folder_.write("victim", "precious");
    std::filesystem::create_directory(path);
    std::filesystem::create_symlink(victim, path + "/" + name);
    try {
      EXPECT_EQ((doubles(10) | cache({.path = path})).collect().size(), 10U);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::failed_precondition) << error.what();
    }
    EXPECT_EQ(read_whole(victim), "precious") << name;
  }
}

}  // namespace
}  // namespace infeed::test
