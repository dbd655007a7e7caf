#include <cstdlib>

#include <infeed/records/file.h>

#include "matchers.h"
#include "records/remote/http/http_server.h"
#include "records/temporary_files.h"
#include "remote/http/redirect.h"

/// The passwords that go along when a server redirects to another.
namespace infeed {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::serve_bytes;
using ::testing::Each;

class UrlRedirects : public ::testing::Test {
 protected:
  UrlRedirects() {
    home_.write(".netrc", "machine 127.0.0.1 login me password secret\n");
    const char* const home = std::getenv("HOME");
    if (home != nullptr) home_before_ = home;
    ::setenv("HOME", home_.path().c_str(), 1);
    ::setenv("no_proxy", "*", 1);
  }
  ~UrlRedirects() override { ::setenv("HOME", home_before_.c_str(), 1); }

  static std::vector<std::string> passwords(const HttpServer& server) {
    std::vector<std::string> sent;
    for (const HttpRequestSeen& request : server.seen()) {
      sent.push_back(request.header("authorization"));
    }
    return sent;
  }

  const TemporaryFolder home_;
  std::string home_before_;
};

// The machine file knows hosts but no ports, and another port may be another user's server.
TEST_F(UrlRedirects, NoPasswordGoesToAnotherPort) {
  for (const char* const header : {"Location: ", "LOCATION:", "location: \t"}) {
    HttpServer other(
        [](const HttpRequestSeen& request) { return serve_bytes(request, "content"); });
    HttpServer asked([&](const HttpRequestSeen&) {
      return HttpReply{.status = 302, .headers = {header + other.url("/b") + " "}};
    });
    EXPECT_EQ(read_file(asked.url("/a")), "content");
    ASSERT_GE(asked.requests(), 1U);
    ASSERT_GE(other.requests(), 1U);
    EXPECT_THAT(passwords(asked), Each(StartsWith("Basic ")));
    EXPECT_THAT(passwords(other), Each("")) << header;
  }
}

TEST(RedirectOrigin, OnlyTheVerySameServerMayHaveThePassword) {
  using detail::Origin;
  const Origin asked = Origin::of("http://a.example/x");
  EXPECT_TRUE(Origin::of("http://A.example:80/y?z").may_have_password_of(asked));
  EXPECT_TRUE(
      Origin::of("http://aZ.example").may_have_password_of(Origin::of("http://Az.example")));
  for (const char* next : {"https://a.example/x", "https://a.example:80/x", "http://a.example:81/x",
                           "http://b.example/x", "https://b.example/x", "http://a.example.b/x"}) {
    EXPECT_FALSE(Origin::of(next).may_have_password_of(asked)) << next;
  }
  EXPECT_FALSE(asked.may_have_password_of(Origin::of("https://a.example/x")));
}

TEST_F(UrlRedirects, NoPasswordGoesToAnotherNameOfTheHost) {
  home_.write(".netrc",
              "machine 127.0.0.1 login me password secret\n"
              "machine localhost login me password other\n");
  HttpServer other([](const HttpRequestSeen& request) { return serve_bytes(request, "content"); });
  std::string elsewhere = other.url("/b");
  const std::size_t host = elsewhere.find("127.0.0.1");
  ASSERT_NE(host, elsewhere.npos);
  elsewhere.replace(host, std::string_view("127.0.0.1").size(), "localhost");
  HttpServer asked([&](const HttpRequestSeen&) {
    return HttpReply{.status = 302, .headers = {"Location: " + elsewhere}};
  });
  EXPECT_EQ(read_file(asked.url("/a")), "content");
  ASSERT_GE(other.requests(), 1U);
  EXPECT_THAT(passwords(asked), Each(StartsWith("Basic ")));
  EXPECT_THAT(passwords(other), Each(""));
}

TEST_F(UrlRedirects, ThePasswordStaysForTheSameServer) {
  HttpServer server([](const HttpRequestSeen& request) {
    if (request.path != "/a") return serve_bytes(request, "content");
    // The others tell of no redirect.
    return HttpReply{.status = 302,
                     .headers = {"LOCATION: /b ", "Content-Location: http://b.example/c",
                                 "Locations: http://b.example/c", "L: "}};
  });
  EXPECT_EQ(read_file(server.url("/a")), "content");
  EXPECT_GE(server.requests(), 2U);
  EXPECT_THAT(passwords(server), Each(StartsWith("Basic ")));
}

}  // namespace
}  // namespace infeed
