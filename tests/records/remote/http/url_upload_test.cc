#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/file.h>
#include <infeed/records/url_upload.h>

#include "records/remote/aws/s3_environment.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/memory_store.h"
#include "records/remote/http/quick_retries.h"
#include "remote/aws/sigv4.h"
#include "temporary_folder.h"
#include "thrown_error.h"

/// Files that go into an object store, whole or not at all.
namespace infeed {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::MemoryStore;
using test::quick_retries;
using test::S3Environment;

class UrlUpload : public ::testing::Test {
 protected:
  UrlUpload()
      : server_([this](const HttpRequestSeen& request) {
          if (trouble) {
            if (auto reply = trouble(request)) return *reply;
          }
          return store_.answer(request);
        }),
        environment_(server_.url("")) {
    write_whole(file_, bytes_);
  }
  UploadOptions options(bool refuse_existing = false) const {
    return {.url = quick_retries(), .part_bytes = 1'000, .refuse_existing = refuse_existing};
  }
  std::size_t count(const std::string& method) const {
    const auto seen = server_.seen();
    return static_cast<std::size_t>(
        std::count_if(seen.begin(), seen.end(),
                      [&](const HttpRequestSeen& request) { return request.method == method; }));
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("data");
  const std::string bytes_ = test::numbered_bytes(4'500);
  MemoryStore store_;
  std::function<std::optional<HttpReply>(const HttpRequestSeen&)> trouble;
  HttpServer server_;
  S3Environment environment_;
};

TEST_F(UrlUpload, TakesASmallFileInOneRequestAndALargeOneInParts) {
  upload_file(file_, "s3://bucket/a b/small", {.url = quick_retries()});
  EXPECT_EQ(store_.objects["/bucket/a%20b/small"], bytes_);
  EXPECT_EQ(server_.requests(), 1);
  const HttpRequestSeen put = server_.seen().front();
  EXPECT_EQ(put.header("x-amz-content-sha256"), detail::sha256_text(bytes_));
  EXPECT_THAT(put.header("authorization"), HasSubstr("AKIDTEST"));

  upload_file(file_, "s3://bucket/large", options());
  EXPECT_EQ(store_.objects["/bucket/large"], bytes_);
  EXPECT_EQ(count("PUT"), 1 + 5);
  EXPECT_TRUE(store_.uploads.empty());

  write_whole(file_, "");
  upload_file(file_, "s3://bucket/empty", options());
  EXPECT_EQ(store_.objects.count("/bucket/empty"), 1);
  EXPECT_EQ(store_.objects["/bucket/empty"], "");
}

TEST_F(UrlUpload, AWebServerGetsOnePut) {
  upload_file(file_, server_.url("/files/data"), options());
  EXPECT_EQ(store_.objects["/files/data"], bytes_);
  EXPECT_EQ(server_.requests(), 1);
  EXPECT_EQ(server_.seen().front().header("authorization"), "");
}

/// Trouble that passes is met by trying the one request again, at each of them.
TEST_F(UrlUpload, EveryRequestIsTriedAgain) {
  upload_file(file_, "s3://bucket/data", options());
  const std::size_t requests = server_.requests();
  ASSERT_EQ(requests, 7);
  for (const HttpReply& bad : {HttpReply{.status = 503}, HttpReply{.body = "half", .cut_after = 2},
                               HttpReply{.body = "<Error><Code>InternalError</Code></Error>"}}) {
    for (std::size_t struck = 0; struck < requests; ++struck) {
      SCOPED_TRACE(fmt::format("{} at request {}", bad.status, struck));
      store_.objects.clear();
      const std::size_t before = server_.requests();
      trouble = [&](const HttpRequestSeen& request) -> std::optional<HttpReply> {
        if (request.number != before + struck) return std::nullopt;
        return bad;
      };
      upload_file(file_, "s3://bucket/data", options());
      EXPECT_EQ(store_.objects["/bucket/data"], bytes_);
      EXPECT_EQ(server_.requests(), before + requests + 1);
    }
  }
  EXPECT_TRUE(store_.uploads.empty());
}

/// It was waited for as long as the server said.
TEST_F(UrlUpload, APauseThatTheServerWantsHasTheUsualLimit) {
  trouble = [](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.number > 0) return std::nullopt;
    return HttpReply{.status = 503, .headers = {"Retry-After: 60"}};
  };
  const auto begin = std::chrono::steady_clock::now();
  upload_text("text", "s3://bucket/data", options());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(store_.objects["/bucket/data"], "text");
}

/// It was not_found, though the object was there.
TEST_F(UrlUpload, AnEndWhoseAnswerIsLostIsAnEnd) {
  enum class End { answer_is_lost, is_lost, is_refused };
  const auto upload_with = [&](End end) {
    bool is_first = true;
    trouble = [&](const HttpRequestSeen& request) -> std::optional<HttpReply> {
      const bool is_end =
          request.method == "POST" && request.path.find("uploadId=") != std::string::npos;
      if (!is_end || !std::exchange(is_first, false)) return std::nullopt;
      if (end == End::answer_is_lost) store_.answer(request);
      store_.uploads.clear();
      if (end == End::is_refused) return std::nullopt;
      return HttpReply{.body = "half", .cut_after = 0};
    };
    upload_file(file_, "s3://bucket/data", options());
  };
  upload_with(End::answer_is_lost);
  EXPECT_EQ(store_.objects["/bucket/data"], bytes_);
  // The object that is there may be an older one of the same size.
  const Error refused = error_of([&] { upload_with(End::is_refused); });
  store_.objects.clear();
  const Error lost = error_of([&] { upload_with(End::is_lost); });
  for (const Error& error : {refused, lost}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.message(),
              "the store does not know the upload in parts any more (404 NoSuchUpload); upload the "
              "file again");
  }
}

/// Nothing says then whether it is there.
TEST_F(UrlUpload, AnEndWhoseAnswerIsLostMayNotBeFoundOut) {
  bool is_lost = false;
  trouble = [&](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.method == "GET") return HttpReply{.status = 403};
    const bool is_end =
        request.method == "POST" && request.path.find("uploadId=") != std::string::npos;
    if (!is_end || std::exchange(is_lost, true)) return std::nullopt;
    store_.answer(request);
    return HttpReply{.body = "half", .cut_after = 0};
  };
  EXPECT_EQ(error_of([&] { upload_file(file_, "s3://bucket/data", options()); }).code(),
            ErrorCode::permission_denied);
  EXPECT_EQ(store_.objects["/bucket/data"], bytes_);
}

TEST_F(UrlUpload, PartsAreNumberedFromOne) {
  upload_file(file_, "s3://bucket/data", options());
  std::vector<std::string> numbers;
  for (const HttpRequestSeen& request : server_.seen()) {
    const std::size_t at = request.path.find("partNumber=");
    if (at != std::string::npos) {
      numbers.push_back(request.path.substr(at, request.path.find('&', at) - at));
    }
  }
  EXPECT_THAT(numbers, ElementsAre("partNumber=1", "partNumber=2", "partNumber=3", "partNumber=4",
                                   "partNumber=5"));
}

TEST_F(UrlUpload, PartsAreSoLongThatTenThousandAreEnough) {
  trouble = [](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.method != "PUT") return std::nullopt;
    return HttpReply{.status = 403};
  };
  UploadOptions shortest = options();
  shortest.part_bytes = 1;
  for (const auto& [bytes, part_bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {10'000, 1}, {10'001, 2}, {20'000, 2}, {20'001, 3}}) {
    write_whole(file_, test::numbered_bytes(bytes));
    EXPECT_EQ(error_of([&] { upload_file(file_, "s3://bucket/data", shortest); }).code(),
              ErrorCode::permission_denied);
    const auto seen = server_.seen();
    const auto put = std::find_if(seen.rbegin(), seen.rend(), [](const HttpRequestSeen& request) {
      return request.method == "PUT";
    });
    ASSERT_NE(put, seen.rend());
    EXPECT_EQ(put->body.size(), part_bytes) << bytes;
  }
}

TEST_F(UrlUpload, AFailedUploadLeavesNothing) {
  trouble = [](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.path.find("partNumber=3") == std::string::npos) return std::nullopt;
    return HttpReply{.status = 403, .body = "<Error><Code>AccessDenied</Code></Error>"};
  };
  const Error denied = error_of([&] { upload_file(file_, "s3://bucket/data", options()); });
  EXPECT_EQ(denied.code(), ErrorCode::permission_denied);
  EXPECT_THAT(denied.what(), AllOf(HasSubstr("s3://bucket/data"), HasSubstr("AccessDenied"),
                                   HasSubstr("s3:PutObject")));
  trouble = [](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.method != "PUT") return std::nullopt;
    return HttpReply{.status = 503};
  };
  const Error over = error_of([&] { upload_file(file_, "s3://bucket/data", options()); });
  EXPECT_EQ(over.code(), ErrorCode::unavailable);
  EXPECT_EQ(over.message().find("s3:PutObject"), std::string::npos) << "it isn't about rights";
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_TRUE(store_.uploads.empty()) << "parts cost money until they are given up";
}

TEST_F(UrlUpload, RefusesAnObjectThatIsThere) {
  for (const std::size_t part_bytes : {std::size_t{10'000}, std::size_t{1'000}}) {
    UploadOptions refusing = options(true);
    refusing.part_bytes = part_bytes;
    store_.objects.clear();
    upload_file(file_, "s3://bucket/data", refusing);
    EXPECT_EQ(store_.objects["/bucket/data"], bytes_);
    write_whole(file_, test::numbered_bytes(4'000));
    EXPECT_EQ(error_of([&] { upload_file(file_, "s3://bucket/data", refusing); }).code(),
              ErrorCode::already_exists);
    EXPECT_EQ(store_.objects["/bucket/data"], bytes_);
    write_whole(file_, bytes_);
  }
  EXPECT_EQ(error_of([&] { upload_text("other", "s3://bucket/data", options(true)); }).code(),
            ErrorCode::already_exists);
  upload_text("other", "s3://bucket/data", options());
  EXPECT_EQ(store_.objects["/bucket/data"], "other");
  remove_object("s3://bucket/data", options());
  remove_object("s3://bucket/data", options());
  EXPECT_TRUE(store_.objects.empty());
}

TEST_F(UrlUpload, EndsWithAStop) {
  std::stop_source stop;
  trouble = [&](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.path.find("partNumber=2") == std::string::npos) return std::nullopt;
    stop.request_stop();
    return HttpReply{.status = 503};
  };
  UploadOptions stopping = options();
  stopping.url.stop = stop.get_token();
  stopping.url.retry_delay = std::chrono::hours(1);
  EXPECT_EQ(error_of([&] { upload_file(file_, "s3://bucket/data", stopping); }).code(),
            ErrorCode::cancelled);
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_TRUE(store_.uploads.empty()) << "also then its parts are given up";
}

TEST_F(UrlUpload, SaysWhatItSends) {
  upload_text("text", "s3://bucket/data", options());
  remove_object("s3://bucket/data", options());
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].header("content-type"), "application/octet-stream");
  EXPECT_THAT(seen[0].header("authorization"), HasSubstr("SignedHeaders=content-type;host;"));
  EXPECT_EQ(seen[0].header("expect"), "");
  EXPECT_EQ(seen[0].header("if-none-match"), "");
  EXPECT_EQ(seen[1].method, "DELETE");
  EXPECT_EQ(seen[1].header("content-type"), "");
}

TEST_F(UrlUpload, PartsBeginWhereAFileIsLongerThanOne) {
  const auto requests_for = [&](std::size_t bytes, std::size_t part_bytes) {
    write_whole(file_, test::numbered_bytes(bytes));
    const std::size_t before = server_.requests();
    UploadOptions upload = options();
    upload.part_bytes = part_bytes;
    upload_file(file_, "s3://bucket/data", upload);
    EXPECT_EQ(store_.objects["/bucket/data"], test::numbered_bytes(bytes));
    return server_.requests() - before;
  };
  EXPECT_EQ(requests_for(1'000, 1'000), 1U);
  EXPECT_EQ(requests_for(1'001, 1'000), 2U + 2U);
  EXPECT_EQ(requests_for(2'000, 1'000), 2U + 2U);
  EXPECT_EQ(requests_for(3, 0), 2U + 3U);
  EXPECT_EQ(requests_for(0, 0), 1U);
}

TEST_F(UrlUpload, OtherStatusesAreErrors) {
  int status = 204;
  trouble = [&](const HttpRequestSeen&) { return HttpReply{.status = status}; };
  upload_text("text", "s3://bucket/data", options());
  const auto code_of = [&](int answered, std::size_t requests) {
    status = answered;
    const std::size_t before = server_.requests();
    const Error error = error_of([&] { upload_text("text", "s3://bucket/data", options()); });
    EXPECT_EQ(server_.requests() - before, requests) << answered;
    return error.code();
  };
  EXPECT_EQ(code_of(300, 1), ErrorCode::failed_precondition);
  EXPECT_EQ(code_of(404, 1), ErrorCode::not_found);
  EXPECT_EQ(code_of(412, 1), ErrorCode::already_exists);
  EXPECT_EQ(code_of(409, 6), ErrorCode::failed_precondition) << "another writer's moment";
  EXPECT_EQ(code_of(503, 6), ErrorCode::unavailable);
  status = 404;
  remove_object("s3://bucket/data", options());
  status = 403;
  EXPECT_EQ(error_of([&] { remove_object("s3://bucket/data", options()); }).code(),
            ErrorCode::permission_denied);
}

TEST_F(UrlUpload, AStoreMayKnowNoParts) {
  trouble = [](const HttpRequestSeen&) { return HttpReply{.body = "hello"}; };
  const Error error = error_of([&] { upload_file(file_, "s3://bucket/data", options()); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the store begins no upload in parts as S3 does; check AWS_ENDPOINT_URL");
  EXPECT_EQ(error.file(), "s3://bucket/data");
  EXPECT_EQ(server_.requests(), 1U) << "nothing is to be given up";
}

TEST_F(UrlUpload, PartsAreGivenUpByThreeTries) {
  trouble = [](const HttpRequestSeen& request) -> std::optional<HttpReply> {
    if (request.method == "PUT") return HttpReply{.status = 403};
    if (request.method == "DELETE") return HttpReply{.status = 503};
    return std::nullopt;
  };
  EXPECT_EQ(error_of([&] { upload_file(file_, "s3://bucket/data", options()); }).code(),
            ErrorCode::permission_denied);
  EXPECT_EQ(count("DELETE"), 3U);
}

TEST_F(UrlUpload, AFileThatChangesMeanwhileIsNotUploaded) {
  for (const std::size_t size : {4'501, 4'499, 10}) {
    std::filesystem::resize_file(file_, bytes_.size());
    trouble = [&](const HttpRequestSeen& request) -> std::optional<HttpReply> {
      if (request.path.find("partNumber=2") != std::string::npos) {
        std::filesystem::resize_file(file_, size);
      }
      return std::nullopt;
    };
    const Error error = error_of([&] { upload_file(file_, "s3://bucket/data", options()); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.message(), "the file changed while it was uploaded");
    EXPECT_EQ(error.file(), file_);
  }
  EXPECT_TRUE(store_.objects.empty());
  EXPECT_TRUE(store_.uploads.empty());
}

TEST_F(UrlUpload, NamesWhatCannotBeSent) {
  EXPECT_EQ(
      error_of([&] { upload_file(folder_.file("none"), "s3://bucket/data", options()); }).code(),
      ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { upload_file(file_, "ftp://host/data", options()); }).code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace infeed
