#pragma once

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/records/files.h>

#include "temporary_folder.h"
#include "tools/convert/inputs/example_text.h"
#include "tools/run_program.h"

namespace infeed::test {

/// Tests of the real program that convert small files into one shard in the folder "out".
class ConversionTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name), std::ios::binary) << text;
    return folder_.file(name);
  }
  /// Runs any command that writes a set of shards.
  ProgramResult run(std::vector<std::string> words) const {
    words.insert(words.end(), {"-o", folder_.file("out"), "--shards", "1", "--overwrite"});
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

  TemporaryFolder folder_;
};

}  // namespace infeed::test
