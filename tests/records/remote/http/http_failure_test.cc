#include "remote/http/http_failure.h"

#include <gtest/gtest.h>

namespace infeed::detail {
namespace {

TEST(HttpFailure, AHostThatWasFoundBeforeIsFoundAgain) {
  const UrlTarget target("http://host/a");
  const auto may_pass = [&](bool is_known) {
    const HttpFailure failure =
        failure_of_transport(target, CURLE_COULDNT_RESOLVE_HOST, "no answer", is_known);
    EXPECT_EQ(failure.code, ErrorCode::unavailable);
    EXPECT_EQ(failure.message,
              "the host of host can't be found (no answer); check its name and the network");
    return failure.may_pass;
  };
  EXPECT_FALSE(may_pass(false));
  EXPECT_TRUE(may_pass(true));
  EXPECT_FALSE(failure_of_transport(target, CURLE_PEER_FAILED_VERIFICATION, "", true).may_pass);
}

}  // namespace
}  // namespace infeed::detail
