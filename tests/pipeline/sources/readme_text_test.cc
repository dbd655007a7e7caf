#include <fmt/format.h>
#include <gtest/gtest.h>

#include <infeed/infeed.h>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

TEST(ReadmeText, TheTextPipelineDoesWhatItSays) {
  const TemporaryFolder folder;
  double expected = 0;
  for (int file = 0; file < 2; ++file) {
    std::string text = "city,age,income\n";
    for (int i = 0; i < 1000; ++i) {
      text += fmt::format("\"Berlin, {}\",{},{}.5\n", i, i % 90, i);
      expected += i + 0.5;
    }
    folder.write(fmt::format("people-{}.csv", file), text);
  }
  const InFolder there(folder.path());
#include "readme_text_pipeline.h"
  EXPECT_EQ(sum, expected);
}

}  // namespace
}  // namespace infeed::test
