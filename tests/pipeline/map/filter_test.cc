#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

/// Keeps by the number, throws for some.
template <class Keep>
Stream filtered(const Slots& in, Keep keep) {
  Stream stream;
  for (const Slot& slot : in) {
    try {
      if (slot.fails || keep(slot.value)) stream.push_back(show(slot));
    } catch (const std::exception& exception) {
      stream.push_back(std::string("! ") + exception.what());
    }
  }
  return stream;
}

template <class Keep>
void run_filter_suite(Keep keep) {
  run_stage_suite(
      [keep](auto dataset) {
        return dataset | filter([keep](const auto& element) { return keep(value_of(element)); });
      },
      [keep](const Slots& in) { return filtered(in, keep); });
}

TEST(Filter, PassesTheSuite) {
  run_filter_suite([](std::int64_t x) { return x % 3 != 1; });
}
TEST(Filter, ThatKeepsAll) {
  run_filter_suite([](std::int64_t) { return true; });
}
TEST(Filter, ThatKeepsNothing) {
  run_filter_suite([](std::int64_t) { return false; });
}
TEST(Filter, ThatKeepsOneInAHundred) {
  run_filter_suite([](std::int64_t x) { return x % 100 == 42; });
}
TEST(Filter, ThatThrows) {
  run_filter_suite([](std::int64_t x) {
    if (x % 5 == 2) throw std::runtime_error("filter refuses " + std::to_string(x));
    return x % 5 < 3;
  });
}

TEST(Filter, HasNoKnownLength) {
  const auto odd = filter([](std::int64_t x) { return x % 2 == 1; });
  EXPECT_TRUE((range(10) | odd).cardinality().is_unknown());
  EXPECT_EQ((range(0) | odd).cardinality(), Cardinality::finite(0));
}

}  // namespace
}  // namespace infeed::test
