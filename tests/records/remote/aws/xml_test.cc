#include "remote/aws/xml.h"

#include <gtest/gtest.h>

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
}

TEST(Xml, ATagThatIsCutHasNoText) {
  EXPECT_EQ(xml_text("<Key>a</Ke", "Key"), std::nullopt);
  EXPECT_EQ(xml_text("a</Key>", "Key"), std::nullopt);
  EXPECT_EQ(xml_text("", "Key"), std::nullopt);
}

}  // namespace
}  // namespace infeed::detail
