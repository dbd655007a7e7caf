#include "remote/aws/bucket_list.h"

#include <optional>
#include <string>

#include "matchers.h"

namespace infeed::detail {
namespace {

BucketList list_of(const std::string& content) {
  const auto list = parse_bucket_list("<ListBucketResult>" + content + "</ListBucketResult>");
  EXPECT_TRUE(list);
  return list.value_or(BucketList());
}

TEST(BucketList, HoldsTheKeysOfAPage) {
  EXPECT_THAT(list_of("").keys, IsEmpty());
  EXPECT_THAT(list_of("<Contents><Key>a+b%20c</Key></Contents>"
                      "<Contents><Size>1</Size><Key>b&amp;c</Key></Contents>")
                  .keys,
              ElementsAre("a+b%20c", "b&c"));
  EXPECT_THAT(list_of("<EncodingType>url</EncodingType>"
                      "<Contents><Key>a+b%20c%2B</Key></Contents>")
                  .keys,
              ElementsAre("a b c+"));
  EXPECT_THAT(list_of("<EncodingType>other</EncodingType><Contents><Key>a+b</Key></Contents>").keys,
              ElementsAre("a+b"));
  EXPECT_THAT(list_of("<Prefix><Key>no</Key></Prefix><Contents><Key>a</Key></Contents>"
                      "<Contents><Size>1</Size></Contents>")
                  .keys,
              ElementsAre("a"))
      << "only keys of contents count";
}

TEST(BucketList, GoesOnWhereItSaysSo) {
  const BucketList end = list_of("");
  EXPECT_FALSE(end.goes_on);
  EXPECT_EQ(end.next_token, std::nullopt);
  const BucketList untold = list_of("<NextContinuationToken>t</NextContinuationToken>");
  EXPECT_TRUE(untold.goes_on);
  EXPECT_EQ(untold.next_token, "t");
  const BucketList empty = list_of("<NextContinuationToken></NextContinuationToken>");
  EXPECT_FALSE(empty.goes_on);
  EXPECT_EQ(empty.next_token, std::nullopt);
  EXPECT_TRUE(list_of("<IsTruncated>true</IsTruncated>").goes_on);
  EXPECT_FALSE(list_of("<IsTruncated>false</IsTruncated>"
                       "<NextContinuationToken>t</NextContinuationToken>")
                   .goes_on);
}

TEST(BucketList, IsNoOtherText) {
  EXPECT_FALSE(parse_bucket_list("<html><Contents><Key>a</Key></Contents></html>"));
  EXPECT_FALSE(parse_bucket_list(""));
  EXPECT_TRUE(parse_bucket_list("<ListBucketResult xmlns=\"x\">"));
}

TEST(BucketList, IsCutWithoutItsEnd) {
  EXPECT_TRUE(is_cut_list("<ListBucketResult><Contents>"));
  EXPECT_FALSE(is_cut_list("<ListBucketResult></ListBucketResult>"));
  EXPECT_FALSE(is_cut_list("<html>"));
}

}  // namespace
}  // namespace infeed::detail
