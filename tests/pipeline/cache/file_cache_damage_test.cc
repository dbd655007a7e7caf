#include <array>
#include <filesystem>
#include <functional>
#include <linux/capability.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>

#include <infeed/pipeline/cache.h>
#include <infeed/records/line_journal.h>

#include "pipeline/cache/file_cache_fixture.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

/// A store's reaction to a folder that has changed since it was written.
namespace infeed::test {
namespace {

using Kind = StoreEvent::Kind;

TEST_F(FileCache, DamageIsRepaired) {
  const Stream expected = stream_of(range(200));
  const std::vector<std::function<void(const std::filesystem::path&)>> damages = {
      [](const auto& shard) { flip_bits(shard, 60); },
      [](const auto& shard) { std::filesystem::resize_file(shard, 30); },
      [](const auto& shard) { std::filesystem::remove(shard); },
      // As long as before, but with other elements: their number is wrong.
      [](const auto& shard) {
        write_whole(shard, std::string(std::filesystem::file_size(shard), '\0'));
      },
  };
  for (const auto& damage : damages) {
    for (const std::size_t which : {std::size_t{0}, std::size_t{4}}) {
      const FileCacheOptions options = noting(fresh());
      stream_of(range(200) | cache(options));
      const auto names = shards(options.path);
      ASSERT_GT(names.size(), 8);
      damage(names[which]);
      kinds();
      EXPECT_EQ(stream_of(range(200) | cache(options)), expected);
      const std::vector<Kind> happened = kinds();
      if (happened.front() == Kind::reading) {
        EXPECT_THAT(happened, ElementsAre(Kind::reading, Kind::damaged));
        EXPECT_EQ(stream_of(range(200) | cache(options)), expected);
        EXPECT_THAT(kinds(), ElementsAre(Kind::resuming, Kind::finished));
      } else {
        EXPECT_THAT(happened, ElementsAre(Kind::resuming, Kind::finished));
      }
      EXPECT_EQ(stream_of(range(200) | cache(options)), expected);
      EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
    }
  }
}

/// Takes the right to read any file from this thread, which root has.
class WithoutRightsOfRoot {
 public:
  WithoutRightsOfRoot() {
    ::syscall(SYS_capget, &header_, before_.data());
    auto without = before_;
    without[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    ::syscall(SYS_capset, &header_, without.data());
  }
  ~WithoutRightsOfRoot() { ::syscall(SYS_capset, &header_, before_.data()); }
  WithoutRightsOfRoot(const WithoutRightsOfRoot&) = delete;
  WithoutRightsOfRoot& operator=(const WithoutRightsOfRoot&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> before_{};
};

/// A moment's trouble of a network or with rights says nothing of the bytes.
TEST_F(FileCache, KeepsWhatCantBeReadForAMoment) {
  const FileCacheOptions options = noting(fresh());
  stream_of(range(200) | cache(options));
  const auto names = shards(options.path);
  ASSERT_GT(names.size(), 8);
  kinds();
  std::filesystem::permissions(names[4], std::filesystem::perms::none);
  {
    const WithoutRightsOfRoot without;
    EXPECT_EQ(stream_of(range(200) | cache(options), {.executor = Executor::inline_()}),
              stream_of(range(200)));
  }
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading, Kind::damaged));
  std::filesystem::permissions(names[4], std::filesystem::perms::owner_read);
  EXPECT_EQ(stream_of(range(200) | cache(options)), stream_of(range(200)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
}

/// A server's trouble of an hour stayed in the cache for ever, in the place of the rest of a file.
TEST_F(FileCache, StoresNoErrorThatMayPass) {
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::deadline_exceeded}) {
    const FileCacheOptions options = noting(fresh());
    bool is_well = false;
    const auto make = [&] {
      return range(200) | map([&](std::int64_t x) {
               if (x == 7) throw Error(ErrorCode::data_loss, "it is damaged");
               if (x == 123 && !is_well) throw Error(code, "the server has trouble");
               return x;
             }) |
             cache(options);
    };
    const std::vector<std::string> first = stream_of(make());
    EXPECT_EQ(first.size(), 200U);
    EXPECT_THAT(first[123], HasSubstr("the server has trouble"));
    EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::gave_up));
    EXPECT_EQ(elements_, 123U);
    is_well = true;
    const std::vector<std::string> second = stream_of(make());
    EXPECT_EQ(second.size(), 200U);
    EXPECT_THAT(second[7], HasSubstr("it is damaged"));
    EXPECT_EQ(second[123], stream_of(range(200))[123]);
    EXPECT_THAT(kinds(), ElementsAre(Kind::resuming, Kind::finished));
    EXPECT_EQ(stream_of(make()), second);
    EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
  }
}

TEST_F(FileCache, AJournalThatIsCutAnywhereIsGoneOnWith) {
  const FileCacheOptions options = noting(fresh());
  const auto make = [&] {
    return range(60) | map([](std::int64_t x) {
             if (x % 7 == 3) throw std::runtime_error("no " + std::to_string(x));
             return x;
           }) |
           cache(options);
  };
  const Stream expected = stream_of(make());
  const std::string journal = options.path + "/elements.journal";
  const std::string whole = read_whole(journal);
  for (std::size_t size = whole.find('\n') + 1; size < whole.size(); size += 29) {
    SCOPED_TRACE("cut at " + std::to_string(size));
    write_whole(journal, read_whole(journal).substr(0, size));
    Stream got = stream_of(make());
    if (got.size() == 1) {
      // Cut inside the description: not taken for ours.
      EXPECT_THAT(got[0], HasSubstr("(nothing)"));
      std::filesystem::remove(journal);
      got = stream_of(make());
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(stream_of(make()), expected);
  }
}

TEST_F(FileCache, ReadsTheErrorsOfOlderStores) {
  const FileCacheOptions options = noting(fresh());
  const auto dataset = range(2) | map([](std::int64_t x) -> std::int64_t {
                         if (x == 0) throw Error(ErrorCode::data_loss, "no 0");
                         throw std::runtime_error("no 1");
                       }) |
                       cache(options);
  stream_of(dataset);
  const std::string journal = options.path + "/elements.journal";
  std::vector<std::string> lines = LineJournal::read(journal, LineChecksum::behind_text);
  const auto rewrite = [&](std::string_view now, std::string_view then) {
    for (std::string& line : lines) {
      if (const std::size_t at = line.find(now); at != line.npos) {
        line.replace(at, now.size(), then);
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(rewrite("\tdata_loss\t", "\tdata loss\t"));
  EXPECT_TRUE(rewrite("\tuser_function\t", "\tuser function failed\t"));
  write_whole(journal, LineJournal::text_of(lines, LineChecksum::behind_text));
  kinds();
  auto iterator = dataset.iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::data_loss);
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::user_function);
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading));
}

}  // namespace
}  // namespace infeed::test
