#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <random>
#include <set>

#include <infeed/records/byte_stream.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "quiet_run.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using namespace std::chrono_literals;
using test::frame;
using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::quick_retries;
using test::serve_bytes;

std::vector<std::string> some_payloads(std::mt19937_64& random, std::size_t bytes) {
  std::vector<std::string> payloads;
  for (std::size_t total = 0; total < bytes; total += payloads.back().size()) {
    payloads.push_back(test::random_bytes(random, random() % 5000));
  }
  return payloads;
}

std::vector<std::string> read_all(const std::string& url, const UrlOptions& options) {
  RecordReader reader(url, {.url = options});
  std::vector<std::string> payloads;
  Record record;
  while (reader.next(record)) payloads.emplace_back(record.bytes());
  return payloads;
}

class UrlReading : public ::testing::Test {
 protected:
  UrlReading() { ::setenv("no_proxy", "*", 1); }

  test::SeededRandom random_;
  const std::vector<std::string> payloads_ = some_payloads(random_, 3 << 20);
  const std::string file_ = frame(payloads_);
  /// Answers the first request; all others hang.
  const HttpServer::Handler hangs_behind_the_first_ = [this](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, file_);
    if (request.number > 0) reply.hang_after = 0;
    return reply;
  };
};

TEST_F(UrlReading, GivesTheRecordsOfTheFile) {
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, file_); });
  RecordReader reader(server.url("/a.tfrecord"));
  EXPECT_EQ(reader.file(), server.url("/a.tfrecord"));
  EXPECT_EQ(reader.file_bytes(), file_.size());
  EXPECT_EQ(reader.compression(), Compression::none);
  EXPECT_EQ(read_all(server.url("/a.tfrecord"), quick_retries()), payloads_);
}

TEST_F(UrlReading, RecognisesCompressionByContent) {
  const std::string compressed = test::gzip(file_);
  HttpServer server(
      [&](const HttpRequestSeen& request) { return serve_bytes(request, compressed); });
  EXPECT_EQ(RecordReader(server.url("/a")).compression(), Compression::gzip);
  EXPECT_EQ(read_all(server.url("/a"), quick_retries()), payloads_);
  ByteStream stream(server.url("/a"));
  std::string bytes(file_.size() + 1, '\0');
  bytes.resize(stream.read(bytes));
  EXPECT_EQ(bytes, file_);
}

TEST_F(UrlReading, GivesTheSameInAnyRanges) {
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, file_); });
  for (const std::size_t range :
       {std::size_t{30'000}, std::size_t{400'000}, std::size_t{8} << 20}) {
    for (const unsigned in_flight : {0U, 1U, 7U}) {
      UrlOptions options = quick_retries();
      options.range_bytes = range;
      options.ranges_in_flight = in_flight;
      EXPECT_EQ(read_all(server.url("/a"), options), payloads_) << range << " " << in_flight;
    }
  }
}

TEST_F(UrlReading, KeepsToItsLimitsOfRangesAndBytes) {
  const std::string* const content = &file_;
  HttpServer server(
      [content](const HttpRequestSeen& request) { return serve_bytes(request, *content); });
  UrlOptions options = quick_retries();
  options.range_bytes = 100'000;
  options.ranges_in_flight = 8;
  options.bytes_in_flight_max = 250'000;
  RecordReader reader(server.url("/a"), {.url = options});
  Record record;
  ASSERT_TRUE(reader.next(record));
  while (server.requests() < 2) std::this_thread::yield();
  for (const HttpRequestSeen& request : server.seen()) {
    ASSERT_TRUE(request.range);
    // Two blocks of 256 KiB are read at most, and 250,000 bytes asked for beyond.
    EXPECT_LT(request.range->second, (512 << 10) + 250'000);
    EXPECT_LE(request.range->second - request.range->first, 100'000U);
  }
}

TEST_F(UrlReading, ReadsEmptyAndTinyObjects) {
  std::string content;
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, content); });
  EXPECT_TRUE(read_all(server.url("/empty"), quick_retries()).empty());
  content = frame("x");
  EXPECT_EQ(read_all(server.url("/tiny"), quick_retries()), std::vector<std::string>{"x"});
}

TEST_F(UrlReading, TakesASmallObjectFromAServerWithoutRanges) {
  HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.body = file_}; });
  UrlOptions options = quick_retries();
  options.range_bytes = 8 << 20;
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
}

TEST_F(UrlReading, TakesAPartThatIsNotCalledOne) {
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, file_);
    reply.status = 200;  // in spite of its Content-Range
    return reply;
  });
  EXPECT_EQ(read_all(server.url("/a"), quick_retries()), payloads_);
}

TEST_F(UrlReading, GoesOnWhereAConnectionWasCut) {
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, file_);
    if (random_() % 3 != 0) reply.cut_after = random_() % (reply.body.size() + 1);
    return reply;
  });
  UrlOptions options = quick_retries();
  options.range_bytes = 300'000;
  options.retries = 50;
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
  const auto seen = server.seen();
  const auto resumed = std::count_if(seen.begin(), seen.end(), [](const auto& request) {
    return request.range->first % 4096 != 0 && request.header("if-match") == "\"one\"";
  });
  EXPECT_GT(resumed, 0);
}

TEST_F(UrlReading, TriesAgainWhatMayPass) {
  HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    constexpr std::array kStatuses = {500, 502, 503, 504, 429, 408};
    if (random_() % 2 == 0) return {.status = kStatuses.at(random_() % kStatuses.size())};
    return serve_bytes(request, file_);
  });
  UrlOptions options = quick_retries();
  options.range_bytes = 300'000;
  options.retries = 60;
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
}

TEST_F(UrlReading, AcceptsAnswersThatAreShorterThanAsked) {
  HttpServer server([&](HttpRequestSeen request) {
    request.range->second = std::min(request.range->second, request.range->first + 20'000);
    return serve_bytes(request, file_);
  });
  UrlOptions options = quick_retries();
  options.retries = 0;
  options.hedge_percentile = 1;
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
  std::set<int> connections;  // are used again, so they are as few as the ranges in flight
  for (const auto& request : server.seen()) connections.insert(request.connection);
  EXPECT_LT(connections.size(), server.requests() / 3);
}

/// Each such answer was progress, so that a reader was held for days.
TEST_F(UrlReading, EndsWhereAServerGivesAByteAtATime) {
  HttpServer server([&](HttpRequestSeen request) {
    request.range->second = request.range->first;
    return serve_bytes(request, file_);
  });
  ByteStream stream(server.url("/a"), Compression::none, quick_retries());
  std::string bytes(1000, '\0');
  const Error error = error_of([&] { stream.read(bytes); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.message(),
            fmt::format("the server of 127.0.0.1:{} gives little at a time: 1 of 262080 bytes",
                        server.port()));
  EXPECT_EQ(error.offset(), 65U);
}

TEST_F(UrlReading, GivesUpAStalledConnectionAndAsksAgain) {
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, file_);
    if (request.number % 2 == 0) reply.hang_after = reply.body.size() / 2;
    return reply;
  });
  UrlOptions options = quick_retries();
  options.stall_timeout = 100ms;
  options.retries = 1000;  // on a busy machine other answers may take as long
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
}

TEST_F(UrlReading, TakesTheLongestTimesForNever) {
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, file_); });
  constexpr auto kNever = std::chrono::milliseconds::max();
  const UrlOptions options{.retries = 0,
                           .retry_delay = kNever,
                           .retry_delay_max = kNever,
                           .connect_timeout = kNever,
                           .stall_timeout = kNever,
                           .rate_window = kNever,
                           .hedge_delay_min = kNever};
  EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
}

TEST_F(UrlReading, AsksASecondTimeForWhatIsSlow) {
  UrlOptions options = quick_retries();
  options.range_bytes = 50'000;
  options.hedge_delay_min = 5ms;
  options.retries = 0;
  // On a busy machine the second request may come before the first bytes: for all of the range.
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    std::atomic<std::uint64_t> hung{0};
    HttpServer server([&](const HttpRequestSeen& request) {
      HttpReply reply = serve_bytes(request, file_);
      // One late range hangs for ever; only a second request can bring it.
      if (request.range->first > 1'500'000 && hung == 0) {
        hung = request.range->first;
        reply.hang_after = 100;
      }
      return reply;
    });
    EXPECT_EQ(read_all(server.url("/a"), options), payloads_);
    const auto seen = server.seen();
    return std::any_of(seen.begin(), seen.end(),
                       [&](const auto& request) { return request.range->first == hung + 100; });
  })) << "nobody asked for the rest of the range that hung";
}

TEST_F(UrlReading, FollowsRedirects) {
  HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    if (request.path == "/old") return {.status = 302, .headers = {"Location: /new"}};
    return serve_bytes(request, file_);
  });
  EXPECT_EQ(read_all(server.url("/old"), quick_retries()), payloads_);
}

TEST_F(UrlReading, JumpsAndSkips) {
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, file_); });
  UrlOptions options = quick_retries();
  options.range_bytes = 64 << 10;
  RecordReader reader(server.url("/a"), {.url = options});
  std::vector<RecordPosition> positions;
  do positions.push_back(reader.position());
  while (reader.skip(1) == 1);
  ASSERT_EQ(positions.size(), payloads_.size() + 1);
  for (int i = 0; i < 50; ++i) {
    const std::size_t at = random_() % payloads_.size();
    reader.seek(positions[at]);
    Record record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.bytes(), payloads_[at]);
    EXPECT_EQ(record.number(), at);
  }
}

TEST_F(UrlReading, SkipsLargePayloadsWithoutFetchingThem) {
  const std::vector<std::string> large(4, std::string(4 << 20, 'x'));
  const std::string file = frame(large);
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, file); });
  UrlOptions options = quick_retries();
  options.range_bytes = 64 << 10;
  options.ranges_in_flight = 2;
  EXPECT_EQ(count_records(server.url("/a"), {.url = options}), 4U);
  std::uint64_t asked = 0;
  for (const auto& request : server.seen()) asked += request.range->second - request.range->first;
  EXPECT_LT(asked, 2U << 20);
}

TEST_F(UrlReading, WorksInAllReaders) {
  const TemporaryFolder folder;
  const std::string local = folder.write("a", file_);
  const RecordIndex index = index_records(local);
  write_index(index, local + ".index");
  const std::string index_file = read_whole(local + ".index");
  HttpServer server([&](const HttpRequestSeen& request) {
    return serve_bytes(request, request.path == "/a" ? file_ : index_file);
  });
  EXPECT_EQ(index_records(server.url("/a")), index);
  const IndexedRecords records(server.url("/a"), read_index(server.url("/a.index")));
  for (const std::size_t i : {std::size_t{0}, payloads_.size() / 2, payloads_.size() - 1}) {
    EXPECT_EQ(records.read(i).bytes(), payloads_[i]);
  }
  ParallelRecordReader parallel(server.url("/a"));
  EXPECT_THAT(parallel.how(), HasSubstr("the ranges of the URL are fetched at once"));
  std::vector<std::string> read;
  Record record;
  while (parallel.next(record)) read.emplace_back(record.bytes());
  EXPECT_EQ(read, payloads_);
}

TEST_F(UrlReading, ReportsDamageAsOfAFile) {
  std::string damaged = file_;
  damaged[file_.size() / 2] ^= 1;
  HttpServer server([&](const HttpRequestSeen& request) { return serve_bytes(request, damaged); });
  const Error error = error_of([&] { read_all(server.url("/a"), quick_retries()); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), server.url("/a"));
  RecordReader reader(server.url("/a"), {.damage = DamagePolicy::skip_and_resynchronise});
  std::size_t count = 0;
  Record record;
  while (reader.next(record)) ++count;
  EXPECT_EQ(count, payloads_.size() - 1);
  EXPECT_EQ(reader.damaged().size(), 1U);
}

TEST_F(UrlReading, EndsWhenSomebodyAsksTo) {
  HttpServer server(hangs_behind_the_first_);
  std::stop_source stop;
  UrlOptions options = quick_retries();
  options.stop = stop.get_token();
  const std::jthread stopper([&] {
    while (server.requests() < 2) std::this_thread::yield();
    stop.request_stop();
  });
  const Error error = error_of([&] { read_all(server.url("/a"), options); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_EQ(error.message(), "somebody asked to stop reading");
}

TEST_F(UrlReading, IsDestroyedAtOnceWhileItsThreadWaits) {
  HttpServer server(hangs_behind_the_first_);
  const auto begin = std::chrono::steady_clock::now();
  {
    ParallelRecordReader reader(server.url("/a"));
    Record record;
    ASSERT_TRUE(reader.next(record));
    while (server.requests() < 2) std::this_thread::yield();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(UrlReading, IsDestroyedAtOnceWhileRangesHang) {
  HttpServer server(hangs_behind_the_first_);
  const auto begin = std::chrono::steady_clock::now();
  {
    RecordReader reader(server.url("/a"));
    Record record;
    ASSERT_TRUE(reader.next(record));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace infeed
