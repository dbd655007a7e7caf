#include <gtest/gtest.h>

#include <infeed/convert/example_input.h>

namespace infeed {
namespace {

TEST(InputFileName, IsWithoutFolderAndQuery) {
  EXPECT_EQ(input_file_name("folder/a#b.csv"), "a#b.csv");
  EXPECT_EQ(input_file_name("https://host/folder/a.csv?Signature=secret#part"), "a.csv");
  EXPECT_EQ(input_file_name("s3://bucket/folder/part#1.npy"), "part#1.npy");
}

}  // namespace
}  // namespace infeed
