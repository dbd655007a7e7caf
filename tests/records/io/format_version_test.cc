#include "infeed/detail/format_version.h"

#include <gtest/gtest.h>
#include <string>

namespace infeed::detail {
namespace {

TEST(FormatVersion, StandsBehindTheNameAndASpace) {
  EXPECT_EQ(format_version("infeed-x 1", "infeed-x"), 1U);
  EXPECT_EQ(format_version("infeed-x 42", "infeed-x"), 42U);
  for (const std::string line :
       {"", "infeed-x", "infeed-x ", "infeed-x1", "infeed-x\t1", "infeed-x  1", "infeed-x 1 ",
        "infeed-x 1a", "infeed-x -1", "infeed-y 1", "infeed-x 99999999999"}) {
    EXPECT_EQ(format_version(line, "infeed-x"), 0U) << line;
  }
}

TEST(FormatVersion, ThatIsLaterIsNamedWithTheNewestThatIsKnown) {
  const std::string text =
      "the index has format version 7, and this infeed knows versions up to 2; use the infeed that "
      "wrote it, or a newer one";
  EXPECT_EQ(later_format_text("the index", 7, 2), text);
  EXPECT_EQ(later_format("the index", 7, 2).message(), text);
  const Error error = later_format("the index", 7, 2, "make it anew");
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(), text + ", or make it anew");
}

}  // namespace
}  // namespace infeed::detail
