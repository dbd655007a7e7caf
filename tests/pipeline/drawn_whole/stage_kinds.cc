#include "pipeline/drawn_whole/stage_kinds.h"

#include <algorithm>

#include <infeed/pipeline/options.h>

namespace infeed::test {
namespace {

constexpr Takes kAnyKind = (Takes{1} << kKinds) - 1;
constexpr Takes kBatches = only(Kind::integers) | only(Kind::samples) | only(Kind::ragged) |
                           only(Kind::padded) | only(Kind::columns);

Drawn draw_none(const Draw&) { return {}; }

Drawn draw_shuffle(const Draw& draw) {
  const std::int64_t buffer = draw.state.is_endless || draw.words.chance(0.9)
                                  ? 1 + draw.words.rather_small(draw.options.is_fat ? 20 : 400)
                                  : std::int64_t{1} << 62;
  return {{"buffer", buffer},
          {"seed", draw_seed(draw.words, draw.options)},
          {"reshuffle", draw.chance(0.6)}};
}

Drawn draw_repeat(const Draw& draw) {
  if (draw.words.chance(0.2)) {
    draw.state.is_endless = true;
    return {{"count", -1}};
  }
  const std::int64_t count = draw.words.between(0, 3);
  draw.state.count_max *= count;
  return {{"count", count}};
}

Drawn draw_file_cache(const Draw& draw) {
  return {{"id", draw.words.between(1, 1'000'000'000)},
          {"shard_bytes", std::int64_t{1} << draw.words.between(8, 20)},
          {"packing", draw.chance(0.2)}};
}

Drawn draw_window(const Draw& draw) {
  const std::int64_t size = draw.words.between(1, 8);
  const std::int64_t shift = draw.words.between(0, 9);
  draw.state.count_max = draw.state.count_max * size / std::max<std::int64_t>(1, shift) + size;
  return {{"size", size},
          {"shift", shift},
          {"stride", draw.words.between(1, 3)},
          {"drop_remainder", draw.chance(0.3)}};
}

Drawn draw_interleave(const Draw& draw) {
  Drawn numbers = draw.parallel({{"cycle_length", draw.words.between(1, 9)},
                                 {"block_length", draw.words.between(1, 5)},
                                 {"seed_by_position", draw.chance(0.3)}});
  // More readers than inner datasets are refused.
  numbers["parallelism"] = std::min(numbers["parallelism"], numbers["cycle_length"]);
  if (draw.options.may_be_unordered && draw.words.chance(0.1)) {
    numbers["ordered"] = 0;
    draw.state.is_unordered = true;
  }
  return numbers;
}

Drawn draw_pack(const Draw& draw) {
  Drawn numbers = draw.size(8);
  draw.state.kind = Kind::columns;
  numbers["length"] = draw.words.between(4, 40);
  numbers["window"] = draw.words.between(1, 20);
  numbers["too_long"] = draw.words.between(0, 2);
  return numbers;
}

Drawn draw_padded(const Draw& draw, Drawn numbers) {
  draw.state.kind = Kind::padded;
  if (draw.words.chance(0.3)) numbers["width"] = draw.words.between(2, 20);
  return numbers;
}

Drawn draw_unbatch(const Draw& draw) {
  switch (draw.state.kind) {
    case Kind::ragged:
    case Kind::padded:
      draw.state.kind = Kind::sentence;
      break;
    case Kind::columns:
      break;
    default:
      draw.state.kind = Kind::integer;
  }
  draw.state.count_max *= 40;
  return {};
}

/// Stages that keep the kind of the elements.
std::vector<StageKind> keeping_stages() {
  return {
      {"map", 8, kAnyKind, anything,
       [](const Draw& draw) {
         return draw.mapped({{"by", draw.words.between(0, 1000)}});
       }},
      {"map_random", 4, kAnyKind, order,
       [](const Draw& draw) {
         return draw.mapped({{"seed", draw_seed(draw.words, draw.options)},
                             {"refused", draw.words.chance(0.3) ? 40 : 0}});
       }},
      {"map_fails", 5, kAnyKind, anything,
       [](const Draw& draw) { return draw.mapped(draw.special()); }},
      {"filter", 4, kAnyKind, an_end, [](const Draw& draw) { return draw.special(); }},
      {"filter_fails", 2, kAnyKind, an_end, [](const Draw& draw) { return draw.special(); }},
      {"take_while", 2, kAnyKind, order, [](const Draw& draw) { return draw.special(); }},
      {"scan", 2, kAnyKind, order, draw_none},
      {"enumerate", 2, kAnyKind, order,
       [](const Draw& draw) -> Drawn {
         return {{"start", draw.words.between(-9, 99)}};
       }},
      {"rejection_resample", 2, kAnyKind, order | an_end,
       [](const Draw& draw) -> Drawn {
         return {{"initial", draw.chance(0.5)}, {"seed", draw_seed(draw.words, draw.options)}};
       }},
      {"unique", 2, only(Kind::integer) | only(Kind::text), an_end, draw_none},
      {"cache", 6, kAnyKind, an_end | order, draw_none},
      {"optional_cache", 4, kAnyKind, an_end | order, draw_none},
      {"file_cache", 4, kAnyKind, an_end | order | not_inner, draw_file_cache},
      {"snapshot", 2, kAnyKind, an_end | order | not_inner, draw_file_cache},
      {"window_unbatch", 2, kAnyKind, order | room, draw_window},
      {"batch_unbatch", 3, kAnyKind & ~only(Kind::sentence) & ~only(Kind::numbers), order,
       [](const Draw& draw) {
         const std::int64_t before = draw.state.count_max;
         Drawn numbers = draw.size(40);
         draw.state.count_max = before;
         return numbers;
       }},
      {"group_by_window", 3, kAnyKind, an_end | order,
       [](const Draw& draw) -> Drawn {
         return {{"keys", draw.words.between(1, 5)}, {"size", draw.words.between(1, 20)}};
       }},
      {"take", 3, kAnyKind, order,
       [](const Draw& draw) -> Drawn {
         const std::int64_t count = draw.words.rather_small(draw.state.count_max + 10);
         draw.state.count_max = std::min(draw.state.count_max, count);
         if (draw.state.is_endless) draw.state.count_max = count;
         draw.state.is_endless = false;
         return {{"count", count}};
       }},
      {"skip", 3, kAnyKind, order,
       [](const Draw& draw) -> Drawn {
         return {{"count", draw.words.rather_small(draw.state.count_max / 2 + 10)}};
       }},
      {"repeat", 5, kAnyKind, order | an_end | room, draw_repeat},
      {"prefetch", 6, kAnyKind, anything,
       [](const Draw& draw) -> Drawn {
         return {{"depth", draw.words.chance(0.5) ? autotune : draw.words.between(0, 20)}};
       }},
      {"shard", 2, kAnyKind, order,
       [](const Draw& draw) -> Drawn {
         const std::int64_t count = draw.words.between(1, 4);
         return {{"count", count}, {"index", draw.words.between(0, count - 1)}};
       }},
      {"skip_errors", 5, kAnyKind, an_end,
       [](const Draw& draw) -> Drawn {
         const bool is_limited = !draw.state.is_unordered && draw.words.chance(0.2);
         return {{"count_max", is_limited ? draw.words.between(0, 9) : -1}};
       }},
      {"shuffle", 7, kAnyKind, order, draw_shuffle},
      {"global_shuffle", 10, kAnyKind, an_index,
       [](const Draw& draw) -> Drawn {
         return {{"seed", draw_seed(draw.words, draw.options)}, {"reshuffle", draw.chance(0.6)}};
       }},
      {"assert_cardinality", 1, kAnyKind, an_end | order,
       [](const Draw& draw) -> Drawn {
         return {{"count", draw.words.rather_small(draw.state.count_max + 5)}};
       }},
      {"concatenate", 2, kAnyKind, order | an_end, draw_none},
      {"zip", 3, kAnyKind, order, draw_none},
      {"sample", 3, kAnyKind, order | an_end,
       [](const Draw& draw) -> Drawn {
         return {{"seed", draw_seed(draw.words, draw.options)},
                 {"stops", draw.chance(0.4)},
                 {"reshuffle", draw.chance(0.5)},
                 {"weighted", draw.chance(0.5)},
                 {"sized", draw.chance(0.3)}};
       }},
      {"choose", 2, kAnyKind, order | an_end,
       [](const Draw& draw) -> Drawn {
         return {{"choice_seed", draw.words.between(1, 1000)},
                 {"choices", draw.words.rather_small(600)},
                 {"stops", draw.chance(0.4)}};
       }},
      {"flat_map", 4, kAnyKind, order | an_end | room,
       [](const Draw& draw) -> Drawn {
         return {{"seed_by_position", draw.chance(0.3)}};
       }},
      {"interleave", 7, kAnyKind, order | an_end | room, draw_interleave},
      {"rebatch", 12, kBatches, order,
       [](const Draw& draw) {
         Drawn numbers = draw.size(20);
         draw.state.count_max *= 40;
         return numbers;
       }},
  };
}

/// Stages that lead from one kind to another.
std::vector<StageKind> leading_stages() {
  const Takes rows = only(Kind::sentence) | only(Kind::numbers) | only(Kind::record);
  return {
      {"to_text", 2, kAnyKind, anything,
       [](const Draw& draw) {
         return draw.to_kind(Kind::text, {{"bytes", draw.text_bytes()}});
       }},
      {"to_record", 1, kAnyKind, anything,
       [](const Draw& draw) {
         return draw.to_kind(Kind::record, {{"bytes", draw.text_bytes()}});
       }},
      {"to_integer", 2, kAnyKind & ~only(Kind::integer), anything,
       [](const Draw& draw) { return draw.to_kind(Kind::integer, {}); }},
      {"to_sentence", 2, kAnyKind & ~rows, anything,
       [](const Draw& draw) { return draw.to_kind(Kind::sentence, {}); }},
      {"to_numbers", 2, kAnyKind & ~rows, anything,
       [](const Draw& draw) {
         return draw.to_kind(Kind::numbers, {{"length", draw.words.between(1, 30)}});
       }},
      {"parse", 8, only(Kind::record), anything,
       [](const Draw& draw) { return draw.to_kind(Kind::sentence, {}); }},
      {"parse_batch", 12, only(Kind::record), order,
       [](const Draw& draw) { return draw.filled(60, Kind::samples); }},
      {"parse_columns", 12, only(Kind::record), order,
       [](const Draw& draw) {
         Drawn numbers = draw.filled(60, Kind::columns);
         numbers["columns"] = draw.words.between(0, 2);
         return numbers;
       }},
      {"parse_ragged_batch", 14, only(Kind::record), order,
       [](const Draw& draw) { return draw.filled(60, Kind::ragged); }},
      {"parse_padded_batch", 14, only(Kind::record), order,
       [](const Draw& draw) { return draw_padded(draw, draw.filled(60, Kind::padded)); }},
      {"record_batch_into", 8, only(Kind::record), order,
       [](const Draw& draw) { return draw.filled(60, Kind::samples); }},
      {"batch", 6, only(Kind::integer), order,
       [](const Draw& draw) { return draw.sized(60, Kind::integers); }},
      {"batch_into", 6, only(Kind::integer), order,
       [](const Draw& draw) {
         Drawn numbers = draw.filled(60, Kind::samples);
         numbers["seed"] = draw_seed(draw.words, draw.options);
         return numbers;
       }},
      {"ragged_batch", 12, only(Kind::sentence), order,
       [](const Draw& draw) { return draw.sized(40, Kind::ragged); }},
      {"padded_batch", 12, only(Kind::sentence), order,
       [](const Draw& draw) { return draw_padded(draw, draw.size(40)); }},
      {"bucket", 8, only(Kind::sentence), order | an_end,
       [](const Draw& draw) {
         Drawn numbers = draw.size(20);
         numbers["ragged"] = draw.chance(0.5);
         numbers["pad_to_boundary"] = draw.chance(0.3);
         draw.state.kind = numbers["ragged"] != 0 ? Kind::ragged : Kind::padded;
         return numbers;
       }},
      {"window", 4, only(Kind::integer), order,
       [](const Draw& draw) {
         Drawn numbers = draw_window(draw);
         draw.state.kind = Kind::numbers;
         return numbers;
       }},
      {"pack", 12, only(Kind::numbers), order | an_end, draw_pack},
      {"pack", 3, only(Kind::columns), order | an_end, draw_pack},
      {"as_columns", 8, only(Kind::samples) | only(Kind::ragged) | only(Kind::padded), anything,
       [](const Draw& draw) -> Drawn {
         draw.state.kind = Kind::columns;
         return {};
       }},
      {"unbatch", 8, kBatches | only(Kind::numbers), order | room, draw_unbatch},
  };
}

}  // namespace

const std::vector<StageKind>& stages() {
  static const std::vector<StageKind> kStages = [] {
    std::vector<StageKind> all = keeping_stages();
    for (StageKind& stage : leading_stages()) all.push_back(std::move(stage));
    return all;
  }();
  return kStages;
}

}  // namespace infeed::test
