#include <gtest/gtest.h>

#include <infeed/error.h>

namespace infeed::test {
namespace {

TEST(ErrorCode, is_told_by_its_name) {
  EXPECT_EQ(to_string(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_EQ(to_string(ErrorCode::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorCode::permission_denied), "permission_denied");
  EXPECT_EQ(to_string(ErrorCode::already_exists), "already_exists");
  EXPECT_EQ(to_string(ErrorCode::data_loss), "data_loss");
  EXPECT_EQ(to_string(ErrorCode::resource_exhausted), "resource_exhausted");
  EXPECT_EQ(to_string(ErrorCode::failed_precondition), "failed_precondition");
  EXPECT_EQ(to_string(ErrorCode::deadline_exceeded), "deadline_exceeded");
  EXPECT_EQ(to_string(ErrorCode::unavailable), "unavailable");
  EXPECT_EQ(to_string(ErrorCode::cancelled), "cancelled");
  EXPECT_EQ(to_string(ErrorCode::user_function), "user_function");
  EXPECT_EQ(to_string(ErrorCode::internal), "internal");
}

}  // namespace
}  // namespace infeed::test
