#include <set>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Fragile {
  std::int64_t value;
  friend bool operator==(const Fragile&, const Fragile&) = default;
};
}  // namespace
}  // namespace infeed::test

template <>
struct std::hash<infeed::test::Fragile> {
  std::size_t operator()(const infeed::test::Fragile& fragile) const {
    if (fragile.value == 3) throw std::runtime_error("no hash");
    return 7;  // all collide
  }
};

namespace infeed::test {
namespace {

template <class T>
auto build(std::int64_t different) {
  return [different](const Dataset<T>& dataset) {
    return dataset |
           map([different](const T& x) { return make_element<T>(value_of(x) % different); }) |
           unique();
  };
}

auto model(std::int64_t different) {
  return [different](const Slots& in) {
    Stream stream;
    std::set<std::int64_t> seen;
    for (const Slot& slot : in) {
      if (slot.fails) {
        stream.push_back(show(slot));
      } else if (seen.insert(slot.value % different).second) {
        stream.push_back(std::to_string(slot.value % different));
      }
    }
    return stream;
  };
}

TEST(Unique, PassesTheSuite) {
  for (const std::int64_t different : {1, 7, 200, 100'000'000}) {
    SCOPED_TRACE(different);
    run_stage_suite_on<std::int64_t>(build<std::int64_t>(different), model(different));
    run_stage_suite_on<std::string>(build<std::string>(different), model(different));
  }
}

TEST(Unique, ForgetsBetweenPasses) {
  const auto all = range(1000) | map([](std::int64_t x) { return x % 3; }) | unique() | repeat(2);
  run_source_suite([&] { return all; }, numbers({0, 1, 2, 0, 1, 2}));
}

TEST(Unique, AFailingHashIsAnErrorInItsPlace) {
  const auto all = range(6) | map([](std::int64_t x) { return Fragile{x / 2 * 3 % 5}; }) |
                   unique() | map([](const Fragile& fragile) { return fragile.value; });
  run_source_suite([&] { return all; }, {"0", "! no hash", "! no hash", "1"});
}

TEST(Unique, CountsWhatItRemembers) {
  auto iterator = (range(100'000) | unique()).iterate();
  for (int i = 0; i < 50'000; ++i) iterator.next();
  EXPECT_GE(iterator.memory().in_use_bytes(), 50'000 * 16);
  EXPECT_LE(iterator.memory().peak_bytes(), 100'000 * 96);
}

TEST(Unique, EndsOverTheMemoryLimit) {
  auto iterator = (range(1'000'000) | unique()).iterate({.memory_bytes_max = 1 << 20});
  const Error error = error_of([&] {
    while (iterator.next()) {
    }
  });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_NE(error.message().find("unique needs"), std::string::npos) << error.message();
  EXPECT_LE(iterator.memory().peak_bytes(), 1 << 20);
}

}  // namespace
}  // namespace infeed::test
