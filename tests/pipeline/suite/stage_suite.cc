#include "pipeline/suite/stage_suite.h"

#include <functional>

#include "test_extent.h"

namespace infeed::test {

namespace internal {

constexpr std::size_t kShortInput = 40;

std::size_t known_outputs(const Model& model, const Slots& slots, std::size_t count) {
  const Slots known(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count));
  Slots values = known;
  Slots errors = known;
  for (std::int64_t i = 0; i < 400; ++i) {
    values.push_back({1'000'000 + i, false});
    errors.push_back({2'000'000 + i, true});
  }
  const Stream ends = model(known);
  const Stream goes_on = model(values);
  const Stream fails = model(errors);
  const std::size_t shortest = std::min({ends.size(), goes_on.size(), fails.size()});
  std::size_t same = 0;
  while (same < shortest && ends[same] == goes_on[same] && ends[same] == fails[same]) ++same;
  return same;
}

std::vector<Slots> inputs_of(std::size_t size, RandomSource& random) {
  std::vector<Slots> inputs{plain_slots(size)};
  if (size == 0) return inputs;
  const auto add = [&](const auto& fails) { inputs.push_back(failing_slots(size, fails)); };
  std::vector<std::function<bool(std::size_t)>> places{
      [](std::size_t i) { return i == 0; },
      [&](std::size_t i) { return i == size - 1; },
      [&](std::size_t i) { return i == size / 2; },
      [&](std::size_t i) { return i == size / 2 || i == size / 2 + 1; },
      [](std::size_t) { return true; },
  };
  if (size < 3) places.resize(2);
  // Short inputs have errors in each of the places; long ones take most of the time.
  if (size > kShortInput && !tests_all()) places = {places[random.below(places.size())]};
  for (const auto& fails : places) add(fails);
  if (size >= 3) add([&](std::size_t) { return random.chance(0.2); });
  return inputs;
}

std::string describe(const Slots& slots, std::string_view type_name) {
  std::string errors;
  for (std::size_t i = 0; i < slots.size() && errors.size() < 60; ++i) {
    if (slots[i].fails) errors += " " + std::to_string(i);
  }
  return "an input of " + std::to_string(slots.size()) + " elements (" + std::string(type_name) +
         "), errors at" + (errors.empty() ? " none" : errors);
}

}  // namespace internal

INFEED_COMMON_SUITES();

}  // namespace infeed::test
