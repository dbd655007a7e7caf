#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/drawn_whole/draw_stage.h"

/// The table of all stages that draw_stage() chooses from.
namespace infeed::test {

/// The state from which the function of a stage draws, and which it changes.
struct Draw {
  Words& words;
  const DrawOptions& options;
  DrawState& state;

  std::int64_t chance(double probability) const { return words.chance(probability) ? 1 : 0; }
  Drawn special() const {
    const std::int64_t modulus = words.between(2, 200);
    return {{"modulus", modulus}, {"residue", words.between(0, modulus - 1)}};
  }
  Drawn size(std::int64_t most) const {
    const std::int64_t size = 1 + words.rather_small(most);
    state.count_max = state.count_max / size + 2;
    return {{"size", size}, {"drop_remainder", chance(0.3)}};
  }
  Drawn parallel(Drawn numbers = {}) const {
    numbers["parallelism"] = draw_parallelism(words);
    if (numbers["parallelism"] != 1) state.is_indexable = false;
    return numbers;
  }
  /// Returns a map, which may give its results as they are ready.
  Drawn mapped(Drawn numbers) const {
    numbers = parallel(std::move(numbers));
    if (words.chance(0.3)) numbers["work_us"] = words.between(1, 30);
    if (words.chance(0.05)) numbers["retries"] = 1;
    if (numbers.contains("retries")) state.is_indexable = false;
    if (options.may_be_unordered && numbers["parallelism"] != 1 && words.chance(0.1)) {
      numbers["ordered"] = 0;
      state.is_unordered = true;
    }
    return numbers;
  }
  Drawn sized(std::int64_t most, Kind kind) const {
    state.kind = kind;
    return size(most);
  }
  Drawn filled(std::int64_t most, Kind kind) const { return parallel(sized(most, kind)); }
  Drawn to_kind(Kind kind, Drawn numbers) const {
    state.kind = kind;
    return mapped(std::move(numbers));
  }
  std::int64_t text_bytes() const {
    return options.is_fat ? std::int64_t{1} << words.between(14, 20) : words.between(0, 200);
  }
};

using DrawNumbers = std::function<Drawn(const Draw&)>;
/// The set of elements that a stage takes.
using Takes = std::uint32_t;
constexpr Takes only(Kind kind) { return Takes{1} << static_cast<unsigned>(kind); }

/// Conditions for a stage on the stages before it.
enum Needs : unsigned {
  anything = 0,
  an_end = 1,      ///< an input that ends
  order = 2,       ///< an input whose order is known
  an_index = 4,    ///< one that is indexable
  room = 8,        ///< few elements, since it makes more of them
  not_inner = 16,  ///< not inside a flat_map or interleave
};

struct StageKind {
  const char* op;
  int weight;
  Takes takes;
  unsigned needs;
  DrawNumbers draw;
};

const std::vector<StageKind>& stages();

}  // namespace infeed::test
