#pragma once

#include <cstddef>
#include <gtest/gtest.h>

#include <infeed/pipeline/dataset.h>

#include "pipeline/suite/stream.h"

namespace infeed::test {

/// Checks that a resume gives the rest of the expected stream, from each place in it, and so from the
/// begin and the end. `options` are those of the run that is left: how often it notes a bookmark.
template <class T>
void expect_resumes_anywhere(const Dataset<T>& dataset, const Stream& expected,
                             const IterateOptions& options) {
  for (std::size_t taken = 0; taken <= expected.size(); ++taken) {
    auto iterator = dataset.iterate(options);
    take_stream(iterator, taken);
    const Stream rest(expected.begin() + static_cast<std::ptrdiff_t>(taken), expected.end());
    EXPECT_EQ(stream_of(dataset, {.resume = iterator.checkpoint()}), rest) << taken;
  }
}

}  // namespace infeed::test
