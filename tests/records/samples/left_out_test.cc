#include "infeed/records/left_out.h"

#include "matchers.h"

namespace infeed {
namespace {

TEST(Omissions, CountAllAndNameTheFirstThree) {
  Omissions all;
  for (const char* const name : {".a", ".b"}) all.add(LeftOut::hidden, name);
  EXPECT_EQ(all[LeftOut::hidden].count, 2U);
  EXPECT_THAT(all[LeftOut::hidden].first, ElementsAre(".a", ".b"));
  Omissions others;
  for (const char* const name : {".c", ".d"}) others.add(LeftOut::hidden, name);
  others.add(LeftOut::empty_class, "cats");
  all.add(others);
  EXPECT_EQ(all[LeftOut::hidden].count, 4U);
  EXPECT_THAT(all[LeftOut::hidden].first, ElementsAre(".a", ".b", ".c"));
  EXPECT_EQ(all[LeftOut::empty_class].count, 1U);
  EXPECT_THAT(all[LeftOut::empty_class].first, ElementsAre("cats"));
  EXPECT_THAT(all[LeftOut::loop].first, IsEmpty());
}

}  // namespace
}  // namespace infeed
