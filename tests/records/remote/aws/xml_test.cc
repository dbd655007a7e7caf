#include "remote/aws/xml.h"

#include <gtest/gtest.h>
#include <string>

namespace infeed::detail {
namespace {

TEST(Xml, GivesTheTextsOfTagsOneAfterTheOther) {
  std::string_view document = "<List><Key>a</Key><Size>7</Size><Key>b</Key><Key></Key></List>";
  EXPECT_EQ(xml_text(document, "Size"), "7");
  EXPECT_EQ(take_xml_text(document, "Key"), "a");
  EXPECT_EQ(take_xml_text(document, "Key"), "b");
  EXPECT_EQ(xml_text(document, "Size"), std::nullopt);
  EXPECT_EQ(take_xml_text(document, "Key"), "");
  EXPECT_EQ(take_xml_text(document, "Key"), std::nullopt);
  EXPECT_EQ(document, "</List>");
}

TEST(Xml, ResolvesEntities) {
  EXPECT_EQ(xml_text("<K>a&amp;b&lt;&gt;&quot;&apos;&amp;lt;&other;&</K>", "K"),
            "a&b<>\"'&lt;&other;&");
  EXPECT_EQ(xml_text("<K>it&#39;s &#34;a&#x22; &#xe9;&#8364;&#x1F600;&amp;#39;</K>", "K"),
            "it's \"a\" \u00e9\u20ac\U0001f600&#39;");
  for (const std::string none : {"&#;", "&#x;", "&#39", "&#-1;", "&#0;", "&#xd800;", "&#1114112;",
                                 "&#4294967335;", "&#39 ;", "&#X27;", "&#"}) {
    EXPECT_EQ(xml_text("<K>" + none + "</K>", "K"), none);
  }
}

TEST(Xml, ATagThatIsCutHasNoText) {
  EXPECT_EQ(xml_text("<Key>a</Ke", "Key"), std::nullopt);
  EXPECT_EQ(xml_text("a</Key>", "Key"), std::nullopt);
  EXPECT_EQ(xml_text("", "Key"), std::nullopt);
}

}  // namespace
}  // namespace infeed::detail
