#pragma once

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "records/example/example_reference.h"
#include "records/example/wild_examples.h"
#include "records/temporary_files.h"

namespace infeed::test {

/// Compares how libprotobuf and we read `count` messages, until they differ. Returns how many were
/// valid.
template <class Draw, class Compare>
int valid_read_alike(int count, const Draw& draw, const Compare& compare) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  WildExamples wild;
  int valid = 0;
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    const Comparison compared = compare(draw(wild));
    EXPECT_EQ(compared.difference, "");
    valid += compared.is_valid ? 1 : 0;
  }
  return valid;
}

}  // namespace infeed::test
