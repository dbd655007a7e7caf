#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include <infeed/pipeline/dataset.h>

#include "pipeline/suite/stream.h"

/// The common part of the tests of terminal errors. Such an error takes no element's place, so the
/// iterator's position stays, and it comes at every later call, too.
namespace infeed::test {

/// A stream up to its terminal error, and the place in front of it.
struct Failed {
  Stream stream;
  Error error{ErrorCode::internal, "no terminal error came"};
  Checkpoint checkpoint;
};

inline void expect_same_error(const Error& found, const Error& expected) {
  EXPECT_EQ(found.code(), expected.code()) << found.what();
  EXPECT_EQ(found.message(), expected.message());
}

/// Checks that the terminal error comes again at each further call.
inline void expect_sticky(ShownIterator& iterator, const Error& expected) {
  const std::uint64_t place = iterator.position();
  for (int further = 0; further < 3; ++further) {
    try {
      const bool ended = !iterator.next().has_value();
      ADD_FAILURE() << (ended ? "the end" : "an element") << " behind the terminal error '"
                    << expected.what() << "'";
      return;
    } catch (const Error& error) {
      expect_same_error(error, expected);
    }
  }
  EXPECT_EQ(iterator.position(), place) << "a terminal error is no element";
  EXPECT_TRUE(expected.is_terminal());
}

/// Takes elements, errors among them, until a terminal error; fails the test if the stream ends
/// instead.
inline Failed take_until_terminal(ShownIterator& iterator, std::size_t elements_max = 1'000'000) {
  Failed failed;
  while (failed.stream.size() < elements_max) {
    const std::uint64_t place = iterator.position();
    try {
      std::optional<std::string> element = iterator.next();
      if (!element) {
        ADD_FAILURE() << "the stream ended after " << failed.stream.size() << " elements";
        return failed;
      }
      failed.stream.push_back(std::move(*element));
    } catch (const Error& error) {
      if (iterator.position() == place) {
        failed.error = error;
        expect_sticky(iterator, error);
        failed.checkpoint = iterator.checkpoint();
        EXPECT_EQ(failed.checkpoint.position, place);
        return failed;
      }
      failed.stream.push_back("! " + error.message());
    }
  }
  ADD_FAILURE() << "no terminal error in " << elements_max << " elements";
  return failed;
}

template <class T>
Failed take_until_terminal(Iterator<T>& iterator, std::size_t elements_max = 1'000'000) {
  ShownIteratorOf<Iterator<T>&> elements(iterator);
  return take_until_terminal(elements, elements_max);
}

/// Takes `make()` under `options` until its terminal error, then goes on from there in a dataset
/// described anew and without a limit. Both parts together must be `expected`.
template <class Make>
Error expect_terminal_and_the_rest(const Make& make, IterateOptions options,
                                   const Stream& expected) {
  auto limited = make().iterate(std::move(options));
  const Failed failed = take_until_terminal(limited, expected.size() + 5);
  IterateOptions unlimited;
  unlimited.resume = Checkpoint::from_text(failed.checkpoint.to_text());
  auto resumed = make().iterate(std::move(unlimited));
  Stream all = failed.stream;
  const Stream rest = take_stream(resumed, expected.size() + 5);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_TRUE(all == expected) << "of " << expected.size() << " elements " << failed.stream.size()
                               << " came before '" << failed.error.what() << "' and " << rest.size()
                               << " behind it, or others";
  return failed.error;
}

}  // namespace infeed::test
