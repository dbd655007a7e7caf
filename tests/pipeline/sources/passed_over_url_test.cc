#include <atomic>
#include <fmt/format.h>
#include <functional>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "records/arrays/npy_bytes.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

// A server that doesn't give the middle one of three files, which is passed over.

namespace infeed::test {
namespace {

constexpr std::int64_t kEach = 100;

/// Returns the file of the numbers from `first` on.
std::string content(std::string_view path, std::int64_t first) {
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;
  std::string bytes;
  for (std::int64_t x = first; x < first + kEach; ++x) {
    numbers.push_back(x);
    texts.push_back(std::to_string(x));
    if (path.ends_with(".txt")) bytes += fmt::format("{}\n", x);
    if (path.ends_with(".jsonl")) bytes += fmt::format("{{\"x\": {}}}\n", x);
    if (path.ends_with(".bin")) bytes += fmt::format("{:03}", x);
  }
  if (path.ends_with(".npy")) {
    return npy_of("<i8", fmt::format("({},)", kEach), bytes_of<std::int64_t>(numbers));
  }
  return path.ends_with(".tfrecord") ? frame(texts) : bytes;
}

std::string text_of(const Record& record) {
  return std::to_string(std::stoll(std::string(record.bytes())));
}
std::string first_of(const ColumnBatch& batch) {
  return std::to_string(batch.columns()[0].values<std::int64_t>()[0]);
}

struct Format {
  std::string name;
  std::function<Dataset<std::string>(std::vector<std::string> urls, UrlOptions url)> read;
};

std::vector<Format> formats() {
  const ColumnSchema schema = ColumnSchema().column("x", DType::int64);
  return {
      {"tfrecord",
       [](auto urls, auto url) { return records(std::move(urls), {.url = url}) | map(&text_of); }},
      {"txt",
       [](auto urls, auto url) { return lines(std::move(urls), {.url = url}) | map(&text_of); }},
      {"bin",
       [](auto urls, auto url) {
         return fixed_length_records(std::move(urls), 3, {.url = url}) | map(&text_of);
       }},
      {"jsonl",
       [schema](auto urls, auto url) {
         return json_lines(std::move(urls), schema, 1, {.format = {.url = url}}) | map(&first_of);
       }},
      {"npy",
       [](auto urls, auto url) { return npy(std::move(urls), 1, {.url = url}) | map(&first_of); }},
  };
}

class PassedOverByUrl : public ::testing::TestWithParam<Format> {
 protected:
  PassedOverByUrl()
      : server_([this](const HttpRequestSeen& request) -> HttpReply {
          const auto file = static_cast<std::int64_t>(request.path[1] - 'a');
          if (file == 1 && status_ != 200) return {.status = status_};
          return serve_bytes(request, content(request.path, file * kEach));
        }) {
    ::setenv("no_proxy", "*", 1);
  }

  Dataset<std::string> dataset() const {
    std::vector<std::string> urls;
    for (const char file : {'a', 'b', 'c'}) {
      urls.push_back(server_.url(fmt::format("/{}.{}", file, GetParam().name)));
    }
    UrlOptions url = quick_retries();
    url.retries = 1;
    return GetParam().read(urls, url);
  }
  std::string missing_url() const { return server_.url("/b." + GetParam().name); }

  std::atomic<int> status_{200};
  HttpServer server_;
};
INSTANTIATE_TEST_SUITE_P(, PassedOverByUrl, ::testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

TEST_P(PassedOverByUrl, AFileThatIsGoneIsOneElement) {
  status_ = 404;
  EXPECT_EQ(stream_of(dataset() | skip(kEach + 1)), stream_of(range(2 * kEach, 3 * kEach)));
  EXPECT_EQ(stream_of(dataset() | shard({.count = 100, .index = 1}), {}, 1), numbers({1}));
}

TEST_P(PassedOverByUrl, AServersTroubleEndsTheRun) {
  status_ = 503;
  for (const auto& passing : {dataset() | skip(kEach + 1), dataset() | skip(2 * kEach),
                              dataset() | skip(2 * kEach + 7)}) {
    auto iterator = passing.iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_TRUE(error.is_terminal());
    EXPECT_EQ(error.file(), missing_url());
    EXPECT_THAT(error.message(), HasSubstr("503"));
    EXPECT_THAT(error.message(), HasSubstr("resume from the last checkpoint"));
  }
  for (const std::int64_t count : {3, 90}) {
    const Stream stream = stream_of(dataset() | shard({.count = count, .index = 5 % count}));
    EXPECT_EQ(stream.size(), static_cast<std::size_t>((kEach - 5 % count - 1) / count + 2));
    EXPECT_THAT(stream.back(), StartsWith("!! "));
  }
  status_ = 200;
  EXPECT_EQ(stream_of(dataset() | skip(2 * kEach)), stream_of(range(2 * kEach, 3 * kEach)));
}

TEST_P(PassedOverByUrl, AServersTroubleEndsAResume) {
  for (const bool is_filtered : {false, true}) {
    // A source remembers how many records a file had, and then doesn't ask for it.
    const auto make = [&] {
      const auto numbers = dataset();
      return is_filtered ? numbers | filter([](const std::string& x) { return !x.ends_with('7'); })
                         : numbers;
    };
    const Stream whole = stream_of(make());
    const auto numbers = make();
    Checkpoint checkpoint = numbers.iterate().checkpoint();
    checkpoint.position = 2 * kEach + 20;
    status_ = 503;
    const Error error = error_of([&] { numbers.iterate({.resume = checkpoint}); });
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_TRUE(error.is_terminal());
    EXPECT_EQ(error.file(), missing_url());
    status_ = 200;
    EXPECT_EQ(stream_of(numbers, {.resume = checkpoint}),
              Stream(whole.begin() + 2 * kEach + 20, whole.end()));
  }
}

/// The consumer has taken the error and gone on.
TEST_P(PassedOverByUrl, AServersTroubleMayComeAgainInAResume) {
  const auto numbers = dataset();
  auto iterator = numbers.iterate();
  iterator.checkpoint();  // the files' identities are asked for
  status_ = 503;
  const Stream begin = take_stream(iterator, kEach + 20);
  EXPECT_THAT(begin[kEach], StartsWith("! "));
  EXPECT_EQ(begin.back(), std::to_string(2 * kEach + 18));
  EXPECT_EQ(stream_of(numbers, {.resume = iterator.checkpoint()}),
            stream_of(range(2 * kEach + 19, 3 * kEach)));
}

}  // namespace
}  // namespace infeed::test
