#pragma once

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/files.h>

#include "temporary_folder.h"
#include "tools/convert/inputs/example_text.h"
#include "tools/run_program.h"

namespace infeed::test {

/// Tests of the real program that convert small files into shards in the folder "out".
class ConversionTest : public ::testing::Test {
 protected:
  explicit ConversionTest(std::string shards = "1") : shards_(std::move(shards)) {}

  std::string write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }
  void shell(const std::string& command) const {
    ASSERT_EQ(std::system(fmt::format("cd '{}' && {}", folder_.path().string(), command).c_str()),
              0)
        << command;
  }
  /// Runs any command that writes a set of shards.
  ProgramResult run(std::vector<std::string> words) const {
    words.insert(words.end(), {"-o", folder_.file("out"), "--shards", shards_, "--overwrite"});
    return run_infeed(words);
  }
  ProgramResult convert(std::vector<std::string> words) const {
    words.insert(words.begin(), "convert");
    return run(std::move(words));
  }
  /// Returns the output of a run that succeeds.
  static std::string output_of(const ProgramResult& result) {
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  /// Returns the only line that a refused run says.
  static std::string refusal_of(const ProgramResult& result) {
    EXPECT_EQ(result.status, 1) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }
  std::string said(const std::vector<std::string>& words) const {
    return output_of(convert(words));
  }
  std::string refused(const std::vector<std::string>& words) const {
    return refusal_of(convert(words));
  }
  std::vector<std::string> examples() const {
    return example_texts(match_files(folder_.file("out/data-*.tfrecord")));
  }
  std::vector<std::string> converted(const std::vector<std::string>& words) const {
    said(words);
    return examples();
  }
  void expect_failure(const std::vector<std::string>& words,
                      const std::vector<std::string>& texts) const {
    const std::string refusal = refused(words);
    for (const std::string& text : texts) EXPECT_THAT(refusal, ::testing::HasSubstr(text));
  }

  TemporaryFolder folder_;

 private:
  const std::string shards_;
};

}  // namespace infeed::test
