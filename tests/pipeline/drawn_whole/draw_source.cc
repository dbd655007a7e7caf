#include <algorithm>
#include <functional>

#include "pipeline/drawn_whole/data_files.h"
#include "pipeline/drawn_whole/draw_stage.h"

namespace infeed::test {
namespace {

std::int64_t draw_count(Words& words, const DrawState& state) {
  if (words.chance(0.05)) return 0;
  if (words.chance(0.4)) return words.between(1, state.elements_bound);
  return 1 + words.rather_small(state.elements_bound);
}

/// A few files, one of which may be damaged.
Drawn draw_files(Words& words, const DrawOptions& options, DrawState& state) {
  const std::int64_t files = words.between(1, 5);
  Drawn numbers = {{"files", files},
                   {"rows", 1 + draw_count(words, state) / files},
                   {"text_bytes", words.chance(0.2) ? 3000 : 30},
                   {"data_seed", words.between(1, 1000)},
                   {"pack", words.chance(0.25) ? words.between(1, 2) : 0},
                   {"damage", 0},
                   {"damage_file", words.between(0, files - 1)},
                   {"damage_permille", words.between(0, 999)}};
  if (options.is_fat) numbers["text_bytes"] = std::int64_t{1} << words.between(14, 20);
  if (words.chance(0.4)) numbers["damage"] = words.between(1, kDamageKinds - 1);
  state.count_max = numbers["rows"] * files + files;
  return numbers;
}

Drawn draw_record_files(Words& words, const DrawOptions& options, DrawState& state) {
  Drawn numbers = draw_files(words, options, state);
  numbers.erase("pack");
  numbers["packing"] = words.chance(0.5) ? 0 : words.between(1, 5);
  numbers["index"] = words.chance(0.3) ? 1 : 0;
  numbers["bad"] = words.chance(0.2) ? words.between(2, 60) : 0;
  numbers["parallelism"] = draw_parallelism(words);
  numbers["resynchronise"] = words.chance(0.3) ? 1 : 0;
  numbers["map_files"] = words.chance(0.2) ? 1 : 0;
  // Draws many small blocks, one of which is framed or read while another one turns out to be damaged.
  const bool is_damaged = numbers["damage"] != 0;
  if (words.chance(is_damaged ? 0.7 : 0.3))
    numbers["block_bytes"] = std::int64_t{1} << words.between(10, is_damaged ? 13 : 18);
  if (words.chance(0.2)) numbers["read_ahead_bytes"] = std::int64_t{1} << words.between(8, 22);
  state.kind = Kind::record;
  return numbers;
}

Drawn draw_columns_of_text(Words& words, const DrawOptions& options, DrawState& state) {
  Drawn numbers = draw_files(words, options, state);
  numbers["size"] = words.between(1, 40);
  numbers["parallelism"] = draw_parallelism(words);
  numbers["leave_out"] = words.chance(0.5) ? 1 : 0;
  numbers["drop_remainder"] = words.chance(0.3) ? 1 : 0;
  state.kind = Kind::columns;
  return numbers;
}

struct Source {
  const char* op;
  int weight;
  std::function<Drawn(Words&, const DrawOptions&, DrawState&)> draw;
};

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = {
      {"range", 8,
       [](Words& words, const DrawOptions&, DrawState& state) -> Drawn {
         state.count_max = draw_count(words, state);
         state.is_indexable = true;
         return {{"start", words.between(-50, 50)}, {"count", state.count_max}};
       }},
      {"counter", 1,
       [](Words& words, const DrawOptions&, DrawState& state) -> Drawn {
         state.is_endless = true;
         return {{"start", words.between(-50, 50)}};
       }},
      {"random_integers", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) -> Drawn {
         state.is_endless = true;
         return {{"seed", draw_seed(words, options)}, {"reshuffle", words.chance(0.5) ? 1 : 0}};
       }},
      {"generate", 3,
       [](Words& words, const DrawOptions&, DrawState& state) -> Drawn {
         state.count_max = draw_count(words, state);
         return {{"count", state.count_max}, {"modulus", words.between(4, 300)}};
       }},
      {"slices", 3,
       [](Words& words, const DrawOptions& options, DrawState& state) -> Drawn {
         state.count_max = draw_count(words, state);
         state.is_indexable = true;
         const std::int64_t kind = words.between(0, 2);
         state.kind = kind == 0 ? Kind::integer : kind == 1 ? Kind::text : Kind::sentence;
         return {{"count", state.count_max},
                 {"kind", kind},
                 {"text_bytes", options.is_fat ? 200'000 : 90}};
       }},
      {"records", 20, draw_record_files},
      {"indexed_records", 3,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         Drawn numbers = draw_record_files(words, options, state);
         numbers["packing"] = 0;
         numbers["index"] = 1;
         // Cut or missing files are refused when the source is described.
         if (numbers["damage"] != 0) numbers["damage"] = std::int64_t(DamageKind::flip);
         state.is_indexable = true;
         return numbers;
       }},
      {"interleaved_records", 6,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         Drawn numbers = draw_record_files(words, options, state);
         numbers["shuffle"] = words.chance(0.3) ? 1 : 0;
         numbers["seed"] = draw_seed(words, options);
         numbers["cycle_length"] = words.between(1, 6);
         numbers["block_length"] = words.between(1, 4);
         // More readers than inner datasets are refused.
         numbers["readers"] = std::min(draw_parallelism(words), numbers["cycle_length"]);
         if (options.may_be_unordered && words.chance(0.2)) {
           numbers["ordered"] = 0;
           state.is_unordered = true;
         }
         return numbers;
       }},
      {"files", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) -> Drawn {
         state.kind = Kind::text;
         state.count_max = std::min<std::int64_t>(300, 1 + draw_count(words, state));
         return {{"count", state.count_max},
                 {"shuffle", words.chance(0.5) ? 1 : 0},
                 {"seed", draw_seed(words, options)},
                 {"reshuffle", words.chance(0.5) ? 1 : 0}};
       }},
      {"lines", 3,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         state.kind = Kind::record;
         Drawn numbers = draw_files(words, options, state);
         state.count_max *= 2;
         return numbers;
       }},
      {"csv", 4, draw_columns_of_text},
      {"json_lines", 4, draw_columns_of_text},
      {"fixed_length_records", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         state.kind = Kind::record;
         return draw_files(words, options, state);
       }},
      {"npy", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         Drawn numbers = draw_files(words, options, state);
         state.kind = Kind::columns;
         numbers["size"] = words.between(1, 40);
         numbers["mapped"] = words.chance(0.5) ? 1 : 0;
         numbers["drop_remainder"] = words.chance(0.3) ? 1 : 0;
         return numbers;
       }},
      {"tar", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) {
         state.kind = Kind::text;
         return draw_files(words, options, state);
       }},
      {"folder", 2,
       [](Words& words, const DrawOptions& options, DrawState& state) -> Drawn {
         state.kind = Kind::text;
         const std::int64_t rows = words.between(1, 20);
         state.count_max = 2 * rows;
         return {{"rows", rows},
                 {"text_bytes", options.is_fat ? 100'000 : 50},
                 {"data_seed", words.between(1, 100)},
                 {"parallelism", draw_parallelism(words)}};
       }},
      {"from_columns", 2,
       [](Words& words, const DrawOptions&, DrawState& state) -> Drawn {
         state.kind = Kind::columns;
         state.is_indexable = true;
         state.count_max = 1 + draw_count(words, state);
         return {{"rows", state.count_max},
                 {"size", words.between(1, 40)},
                 {"drop_remainder", words.chance(0.3) ? 1 : 0}};
       }},
  };
  return kSources;
}

}  // namespace

Step draw_source(Words& words, const DrawOptions& options, DrawState& state) {
  int all = 0;
  for (const Source& source : sources()) all += source.weight;
  auto at = static_cast<int>(words.below(static_cast<std::uint64_t>(all)));
  for (const Source& source : sources()) {
    at -= source.weight;
    if (at < 0)
      return {.op = source.op, .numbers = source.draw(words, options, state), .inputs = {}};
  }
  return {};
}

}  // namespace infeed::test
