#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// A drawn pipeline as plain data. It can be built from it (build.h) again and again, in this and
/// in other processes, and a failure prints it.
namespace infeed::test {

struct Plan;

/// One stage, or the source.
struct Step {
  std::string op;
  std::map<std::string, std::int64_t> numbers = {};
  /// No default: clang asks for a complete Plan.
  std::vector<Plan> inputs;  ///< further pipelines, for zip, concatenate, interleave, ...

  /// Throws std::logic_error that names the step if it has no such number.
  std::int64_t at(const std::string& name) const;
  std::uint64_t count_at(const std::string& name) const {
    return static_cast<std::uint64_t>(at(name));
  }
  /// Returns the number, or `otherwise` if a person who wrote the plan left it out.
  std::int64_t get(const std::string& name, std::int64_t otherwise) const;
  bool is_set(const std::string& name) const { return get(name, 0) != 0; }
};

struct Plan {
  std::vector<Step> steps = {};

  /// Returns "range(count=10) | zip(first=1, {range(count=3) | take(count=1)}) | batch(size=4)".
  std::string text() const;
  /// Reads the result of text(). Throws std::runtime_error with the place.
  static Plan from_text(std::string_view text);
  /// True if the test is true for a step at any depth.
  template <class Test>
  bool any(const Test& test) const {
    for (const Step& step : steps) {
      if (test(step)) return true;
      for (const Plan& input : step.inputs) {
        if (input.any(test)) return true;
      }
    }
    return false;
  }
};

}  // namespace infeed::test
