#include <infeed/records/record_reader.h>

#include "records/remote/http/nginx_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::frame;
using test::NginxServer;
using test::quick_retries;

/// The server that the tests share: starting one takes a while.
class UrlNginx : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("no_proxy", "*", 1);
    server_ = std::make_unique<NginxServer>();
  }
  static void TearDownTestSuite() { server_.reset(); }

  UrlNginx() {
    for (int i = 0; i < 800; ++i) {
      payloads_.push_back(test::random_bytes(random_, random_() % 8000));
    }
    options_.range_bytes = 300'000;
  }

  std::vector<std::string> read(const std::string& url) const {
    RecordReader reader(url, {.url = options_});
    std::vector<std::string> payloads;
    Record record;
    while (reader.next(record)) payloads.emplace_back(record.bytes());
    return payloads;
  }
  Error error_for(const std::string& url) const {
    Error error = error_of([&] { read(url); });
    EXPECT_EQ(error.file(), url);
    return error;
  }

  static inline std::unique_ptr<NginxServer> server_;
  test::SeededRandom random_;
  std::vector<std::string> payloads_;
  UrlOptions options_ = quick_retries();
};

TEST_F(UrlNginx, GivesTheRecords) {
  server_->put("a.tfrecord", frame(payloads_));
  server_->put("a.tfrecord.gz", test::gzip(frame(payloads_)));
  server_->put("empty.tfrecord", "");
  EXPECT_EQ(read(server_->http("/a.tfrecord")), payloads_);
  EXPECT_EQ(read(server_->http("/a.tfrecord.gz")), payloads_);
  EXPECT_EQ(read(server_->http("/moved/a.tfrecord")), payloads_);
  EXPECT_TRUE(read(server_->http("/empty.tfrecord")).empty());
}

TEST_F(UrlNginx, GivesTheRecordsThroughTls) {
  server_->put("a.tfrecord", frame(payloads_));
  options_.ca_file = server_->ca_file();
  EXPECT_EQ(read(server_->https("/a.tfrecord")), payloads_);
}

TEST_F(UrlNginx, RefusesACertificateThatNobodyKnows) {
  const Error error = error_for(server_->https("/a.tfrecord"));
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("the TLS certificate of 127.0.0.1:"));
  EXPECT_THAT(error.message(), HasSubstr("is refused (SSL certificate problem: self"));
  EXPECT_THAT(error.message(), HasSubstr("name the file of its authority in UrlOptions::ca_file or "
                                         "SSL_CERT_FILE if it is your own"));
}

TEST_F(UrlNginx, IsNotSentFromHttpsToHttp) {
  options_.ca_file = server_->ca_file();
  EXPECT_THAT(error_for(server_->https("/insecure/a.tfrecord")).message(),
              HasSubstr("sends to a place that is not asked, such as from https to http"));
}

TEST_F(UrlNginx, NamesWhatIsWrong) {
  EXPECT_EQ(error_for(server_->http("/missing")).code(), ErrorCode::not_found);
  EXPECT_EQ(error_for(server_->http("/forbidden")).code(), ErrorCode::permission_denied);
  const Error broken = error_for(server_->http("/broken"));
  EXPECT_EQ(broken.code(), ErrorCode::unavailable);
  EXPECT_THAT(broken.message(), HasSubstr("has trouble (503); tried 6 times"));
}

TEST_F(UrlNginx, NoticesAnObjectThatChangesUnderWay) {
  server_->put("changing", frame(payloads_));
  options_.ranges_in_flight = 1;
  RecordReader reader(server_->http("/changing"), {.url = options_});
  Record record;
  ASSERT_TRUE(reader.next(record));
  server_->put("changing", frame(payloads_) + frame("x"));
  const Error error = error_of([&] {
    while (reader.next(record)) continue;
  });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(), "the object changed while it was read (412); read it again");
}

TEST_F(UrlNginx, OutlivesARestartOfTheServer) {
  server_->put("a.tfrecord", frame(payloads_));
  options_.ranges_in_flight = 1;
  options_.retries = 200;
  RecordReader reader(server_->http("/a.tfrecord"), {.url = options_});
  std::vector<std::string> read;
  Record record;
  for (int i = 0; reader.next(record); ++i) {
    read.emplace_back(record.bytes());
    if (i != 10) continue;
    server_->stop();
    server_->start();
  }
  EXPECT_EQ(read, payloads_);
}

}  // namespace
}  // namespace infeed
