#pragma once

#include <gmock/gmock.h>

/// Why: GoogleTest, with the matchers that most tests use, by their own names.
namespace infeed {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

}  // namespace infeed
