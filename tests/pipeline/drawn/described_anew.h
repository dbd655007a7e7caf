#pragma once

#include <gtest/gtest.h>
#include <string>

#include <infeed/pipeline/checkpoint.h>

#include "pipeline/suite/stream.h"

namespace infeed::test {

/// Goes through the stream one element an iterator, each of a dataset that was described anew, as
/// the next process does. The first checkpoint comes from an iteration behind full caches, after
/// `first_step` elements: stages from which no earlier element was drawn draw anew.
inline void expect_goes_on_when_described_anew(std::size_t first_step, const auto& describe) {
  const auto dataset = describe();
  const Stream whole = stream_of(dataset, {.epoch = 0});
  auto first = dataset.iterate({.epoch = 0});
  take_stream(first, first_step);
  std::string saved = first.checkpoint().to_text();
  for (std::size_t step = first_step; step <= whole.size(); ++step) {
    const IterateOptions resumed{.resume = Checkpoint::from_text(saved)};
    auto iterator = describe().iterate(resumed);
    const Stream next = take_stream(iterator, 1);
    ASSERT_EQ(next, step < whole.size() ? Stream{whole[step]} : Stream()) << "step " << step;
    saved = iterator.checkpoint().to_text();
    // Also goes from one place to the end.
    if (step % 7 == 0) {
      const Stream rest(whole.begin() + static_cast<std::ptrdiff_t>(step), whole.end());
      ASSERT_EQ(stream_of(describe(), resumed), rest) << "from step " << step;
    }
  }
}
inline void expect_goes_on_when_described_anew(const auto& describe) {
  expect_goes_on_when_described_anew(0, describe);
}

}  // namespace infeed::test
