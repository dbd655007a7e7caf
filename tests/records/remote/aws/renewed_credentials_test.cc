#include <atomic>
#include <set>

#include <infeed/records/record_reader.h>

#include "records/remote/aws/metadata_service.h"
#include "records/remote/aws/s3_environment.h"
#include "records/remote/http/quick_retries.h"
#include "records/tfrecord/framed.h"
#include "remote/aws/credential_provider.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::lent_json;
using test::metadata;
using Clock = std::chrono::system_clock;

TEST(ProvidedCredentials, SignWhatIsRead) {
  const std::string bytes = test::frame(std::vector<std::string>{"one", "two"});
  const HttpServer server([&](const HttpRequestSeen& request) {
    if (request.path.starts_with("/latest/")) return metadata(request, lent_json("ASIAMACHINE"));
    const bool is_signed =
        request.header("authorization").find("Credential=ASIAMACHINE/") != std::string::npos;
    if (!is_signed || request.header("x-amz-security-token") != "token") {
      return HttpReply{.status = 403};
    }
    return test::serve_bytes(request, bytes);
  });
  test::S3Environment environment(server.url(""), test::S3Environment::Credentials::none);
  environment.set("AWS_EC2_METADATA_DISABLED", "");
  environment.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url(""));
  EXPECT_EQ(count_records("s3://bucket/data.tfrecord"), 2U);
}

/// A store whose machine lends `lent` (nothing: trouble), and the requests that it saw.
class LendingStore {
 public:
  explicit LendingStore(std::function<std::string(std::size_t asked)> lent)
      : lent_(std::move(lent)),
        server_([this](const HttpRequestSeen& request) { return answer(request); }),
        environment_(server_.url(""), test::S3Environment::Credentials::none) {
    environment_.set("AWS_EC2_METADATA_DISABLED", "");
    environment_.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.url(""));
  }

  std::size_t asked() const { return asked_; }
  std::set<std::string> signers() const {
    std::set<std::string> signers;
    for (const HttpRequestSeen& request : server_.seen()) {
      const std::string signer = signer_of(request);
      if (!signer.empty()) signers.insert(signer);
    }
    return signers;
  }

 private:
  static std::string signer_of(const HttpRequestSeen& request) {
    const std::string signature = request.header("authorization");
    const std::size_t begin = signature.find("Credential=");
    if (begin == signature.npos) return {};
    return signature.substr(begin + 11, signature.find('/', begin) - begin - 11);
  }

  HttpReply answer(const HttpRequestSeen& request) {
    if (request.path.ends_with("/my-role")) {
      const std::string lent = lent_(asked_++);
      return lent.empty() ? HttpReply{.status = 503} : metadata(request, lent);
    }
    if (request.path.starts_with("/latest/")) return metadata(request, "");
    if (signer_of(request).empty()) return {.status = 403};
    return test::serve_bytes(request, bytes_);
  }

  const std::string bytes_ = test::frame(std::vector<std::string>(3000, std::string(100, 'x')));
  const std::function<std::string(std::size_t)> lent_;
  std::atomic<std::size_t> asked_ = 0;
  const HttpServer server_;
  test::S3Environment environment_;
};

TEST(ProvidedCredentials, AreRenewedWhileAFileIsRead) {
  const LendingStore store([](std::size_t asked) {
    return lent_json("id" + std::to_string(asked), "2001-01-01T00:00:00Z");
  });
  EXPECT_EQ(count_records("s3://bucket/x", {.url = {.range_bytes = 64 << 10}}), 3000U);
  EXPECT_GE(store.signers().size(), 4U);
}

TEST(ProvidedCredentials, AreAskedForOnceByReadersThatShareThem) {
  const LendingStore store([](std::size_t) { return lent_json("id"); });
  const UrlOptions options = {.credentials = share_credentials()};
  for (const char* const name : {"s3://bucket/a", "s3://bucket/b", "s3://other/a"}) {
    EXPECT_EQ(count_records(name, {.url = options}), 3000U);
  }
  EXPECT_EQ(store.asked(), 1U);
  EXPECT_EQ(count_records("s3://bucket/a"), 3000U);
  EXPECT_EQ(store.asked(), 2U);
}

TEST(ProvidedCredentials, AreWaitedForWhileTheProviderHasTrouble) {
  const LendingStore store([](std::size_t asked) {
    if (asked == 0) return lent_json("id", "2001-01-01T00:00:00Z");
    return asked < 5 ? std::string() : lent_json("id");
  });
  EXPECT_EQ(count_records("s3://bucket/x", {.url = test::quick_retries()}), 3000U);
  EXPECT_EQ(store.asked(), 6U);
}

TEST(ProvidedCredentials, EndAReadWhenThereAreNoMore) {
  const LendingStore store([](std::size_t asked) {
    return lent_json("id", asked == 0 ? "2001-01-01T00:00:00Z" : "soon");
  });
  const Error error = error_of([] { count_records("s3://bucket/x"); });
  EXPECT_EQ(error.code(), ErrorCode::permission_denied);
  EXPECT_THAT(error.message(), HasSubstr("end at 'soon', which is no time"));
  EXPECT_EQ(error.file(), "s3://bucket/x");
}

TEST(RenewedCredentials, AreAskedForBeforeTheyEnd) {
  int asked = 0;
  Clock::duration lasting = std::chrono::minutes(4);
  bool has_trouble = false;
  RenewedCredentials renewed({"key", [&] {
                                if (has_trouble) throw Error(ErrorCode::unavailable, "no");
                                ++asked;
                                return ProvidedCredentials{
                                    {"id " + std::to_string(asked), "secret"},
                                    Clock::now() + lasting};
                              }});
  EXPECT_EQ(renewed.now().access_key_id, "id 2");  // they would end soon
  EXPECT_EQ(renewed.now().access_key_id, "id 2");  // but not asked all the time
  EXPECT_EQ(renewed.access_key_id(), "id 2");

  lasting = -std::chrono::seconds(1);
  RenewedCredentials over({"key", [&] {
                             if (has_trouble) throw Error(ErrorCode::unavailable, "no");
                             return ProvidedCredentials{{"id", "secret"}, Clock::now() + lasting};
                           }});
  has_trouble = true;
  EXPECT_EQ(error_of([&] { over.now(); }).message(), "no");
  has_trouble = false;
  lasting = std::chrono::hours(1);
  EXPECT_EQ(over.now().access_key_id, "id");
  has_trouble = true;
  EXPECT_EQ(over.now().access_key_id, "id");
}

/// It was not_found, which readers take for a missing object.
TEST(RenewedCredentials, AreUnavailableWhenAMachineThatLentSomeDoesNotAnswer) {
  bool is_gone = false;
  RenewedCredentials over(
      {"key", [&] {
         if (is_gone) throw Error(ErrorCode::not_found, "no");
         return ProvidedCredentials{{"id", "secret"}, Clock::now() - std::chrono::seconds(1)};
       }});
  is_gone = true;
  const Error error = error_of([&] { over.now(); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.message(), "no");
}

TEST(RenewedCredentials, AreUsedAsLongAsTheyHoldWhenNobodyAnswers) {
  int asked = 0;
  RenewedCredentials renewed(
      {"key", [&] {
         if (++asked > 1) throw Error(ErrorCode::unavailable, "no");
         return ProvidedCredentials{{"id", "secret"}, Clock::now() + std::chrono::minutes(4)};
       }});
  EXPECT_EQ(renewed.now().access_key_id, "id");
  EXPECT_EQ(asked, 2);
}

TEST(RenewedCredentials, AreNotAskedForLongBeforeTheyEnd) {
  int asked = 0;
  RenewedCredentials renewed(
      {"key", [&] {
         ++asked;
         return ProvidedCredentials{{"id", "secret"}, Clock::now() + std::chrono::minutes(50)};
       }});
  renewed.now();
  EXPECT_EQ(asked, 1);
}

/// The provider itself takes them meanwhile, as another thread would.
TEST(RenewedCredentials, AreThereForOthersWhileOneAsks) {
  RenewedCredentials* in_use = nullptr;
  RenewedCredentials renewed(
      {"key", [&] {
         if (in_use == nullptr) {
           return ProvidedCredentials{{"old", "secret"}, Clock::now() + std::chrono::minutes(4)};
         }
         EXPECT_EQ(in_use->now().access_key_id, "old");
         return ProvidedCredentials{{"new", "secret"}, Clock::now() + std::chrono::hours(1)};
       }});
  in_use = &renewed;
  EXPECT_EQ(renewed.now().access_key_id, "new");
}

TEST(RenewedCredentials, AreSharedByThoseWhoAskTheSameProvider) {
  int asked = 0;
  const auto provider = [&](const std::string& key) {
    return CredentialProvider{
        key, [&asked] {
          return ProvidedCredentials{{std::to_string(++asked), "secret"}, Clock::time_point::max()};
        }};
  };
  const auto shared = share_credentials();
  const auto one = renewed_credentials(provider("one"), shared.get());
  EXPECT_EQ(renewed_credentials(provider("one"), shared.get()), one);
  EXPECT_EQ(renewed_credentials(provider("two"), shared.get())->access_key_id(), "2");
  EXPECT_EQ(renewed_credentials(provider("one"), nullptr)->access_key_id(), "3");
}

}  // namespace
}  // namespace infeed::detail
