#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include <infeed/records/record_writer.h>

#include "sanitizers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

class ToolWithoutMemory : public ::testing::TestWithParam<const char*> {};

/// Half of them ended by "terminate called after throwing an instance of 'std::bad_alloc'": where the
/// options are set up, where a folder is listed, and where a destructor of another library takes
/// memory.
TEST_P(ToolWithoutMemory, SaysSoWhereverAnAllocationFails) {
  // There are some 5,000 places; tests/faults.sh tries any.
  constexpr int kStride = 431;
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) {
    RecordWriter writer(folder.file(fmt::format("a-{}.tfrecord", i)));
    writer.write("a record");
    writer.close();
  }
  const std::string report = folder.file("report");
  int struck = 0;
  for (int number = 1;; number += kStride) {
    SCOPED_TRACE(number);
    const ProgramResult result = run_infeed(
        {"inspect", folder.path().string(), "--json", folder.file("found.json")},
        {.environment = {{"LD_PRELOAD", INFEED_INJECT_PROCESS_FAULTS},
                         {"INFEED_FAULT", fmt::format("{} {} {} {}", GetParam(), number,
                                                      folder.path().string(), report)}}});
    if (!std::filesystem::exists(report)) {
      EXPECT_EQ(result.status, 0) << result.err;
      break;
    }
    ++struck;
    std::filesystem::remove(report);
    if (result.status == 0) continue;  // it did without, as with a smaller buffer
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(result.err.starts_with("infeed")) << result.err;
    EXPECT_NE(result.err.find("memory"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  // Sanitizers take memory in their own way.
  if (!kAddressSanitizer && !kThreadSanitizer) {
    EXPECT_GT(struck, 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Tool, ToolWithoutMemory, ::testing::Values("memory", "no_memory"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace infeed::test
