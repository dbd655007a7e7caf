#include <fmt/format.h>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "records/arrays/npy_bytes.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/samples/tar_bytes.h"
#include "thrown_error.h"

/// Sources of other formats by URL; records_url_test.cc has the rest.
namespace infeed::test {
namespace {

class SourcesByUrl : public ::testing::Test {
 protected:
  SourcesByUrl() : server_(&answer) { ::setenv("no_proxy", "*", 1); }

  static std::string content(const std::string& path) {
    if (path.ends_with(".bin")) {
      std::string records;
      for (int i = 0; i < 50'000; ++i) records += fmt::format("{:<10}", i);
      return records;
    }
    const std::string array = test::npy_of("<i8", "(3,)", test::bytes_of<std::int64_t>({7, 8, 9}));
    if (path.ends_with(".npy")) return array;
    if (path.ends_with(".npz")) return test::zip_of({{"x.npy", array}}, true);
    return test::tar_of({{"1.txt", "one"}, {"2.txt", "two"}, {"3.txt", "three"}});
  }
  static test::HttpReply answer(const HttpRequestSeen& request) {
    if (request.path.find("gone") != std::string::npos) return {.status = 404};
    return test::serve_bytes(request, content(request.path));
  }

  HttpServer server_;
};

TEST_F(SourcesByUrl, RecordsOfOneLength) {
  const auto numbers = fixed_length_records({server_.url("/a.bin")}, 10) |
                       map([](const Record& record) -> std::int64_t {
                         return std::stoll(std::string(record.bytes()));
                       });
  EXPECT_TRUE(numbers.cardinality().is_unknown());
  auto iterator = numbers.iterate();
  for (std::int64_t i = 0; i < 40'000; ++i) ASSERT_EQ(iterator.next(), i);
  EXPECT_EQ(stream_of(numbers, {.resume = iterator.checkpoint()}, 2), (Stream{"40000", "40001"}));
}

TEST_F(SourcesByUrl, ArraysAndTheirArchives) {
  const auto first_of = [](const Dataset<ColumnBatch>& batches) {
    return batches | map([](const ColumnBatch& batch) {
             return batch.columns()[0].values<std::int64_t>()[0];
           });
  };
  const std::vector<std::string> arrays = {server_.url("/a.npy"), server_.url("/b.npy")};
  EXPECT_EQ(stream_of(first_of(npy(arrays, 2))), (Stream{"7", "9", "8"}));
  const std::vector<std::string> archive = {server_.url("/a.npz")};
  EXPECT_TRUE(npz(archive, 2).cardinality().is_unknown());
  EXPECT_EQ(stream_of(first_of(npz(archive, 2))), (Stream{"7", "9"}));
}

TEST_F(SourcesByUrl, Samples) {
  auto iterator = tar({server_.url("/gone.tar"), server_.url("/a.tar")},
                      {.format = {.url = test::quick_retries()}})
                      .iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::not_found);
  EXPECT_EQ(iterator.next()->key, "1");
  EXPECT_EQ(iterator.next()->find("txt")->bytes(), "two");
  EXPECT_EQ(iterator.next()->fields.size(), 1);
  EXPECT_FALSE(iterator.next());
}

}  // namespace
}  // namespace infeed::test
