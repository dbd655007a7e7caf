#include "pipeline/drawn/drawn_pipeline_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <stdexcept>

#include "pipeline/shuffle/shuffle_reference.h"

namespace infeed::test {
namespace {

/// An element, or the message of the error in its place.
struct Item {
  std::int64_t value = 0;
  std::optional<std::string> error = {};
};
using Items = std::vector<Item>;

struct AllFailed : std::exception {};

Item failed(std::string message) { return {.value = 0, .error = std::move(message)}; }

std::size_t size_at(const DrawnStage& stage, const std::string& name) {
  return static_cast<std::size_t>(stage.at(name));
}

bool is_congruent(const DrawnStage& stage, std::int64_t x) {
  return floor_mod(x, stage.at("modulus")) == stage.at("residue");
}

Items source(const DrawnStage& stage) {
  Items out;
  for (std::int64_t i = 0; i < stage.at("count"); ++i) {
    if (stage.op == "range") {
      out.push_back({stage.at("start") + i * stage.at("step")});
    } else if (is_congruent(stage, i)) {
      out.push_back(failed(message_of_broken(i)));
    } else {
      out.push_back({i});
    }
  }
  return out;
}

/// Models stages that look at one value at a time and hand errors on. `step` may give any number of
/// items, and returns false to end the stream.
Items each_value(const Items& in, const std::function<bool(std::int64_t, Items&)>& step) {
  Items out;
  for (const Item& item : in) {
    if (item.error) {
      out.push_back(item);
    } else if (!step(item.value, out)) {
      break;
    }
  }
  return out;
}

std::int64_t fold_values(const std::vector<std::int64_t>& values) {
  auto h = static_cast<std::int64_t>(values.size());
  for (const std::int64_t value : values) h = fold(h, value);
  return h;
}

std::optional<Items> elementwise(const Items& in, const DrawnStage& stage) {
  const auto refuse = [&stage](const char* who, std::int64_t x, Items& out) {
    if (!is_congruent(stage, x)) return false;
    out.push_back(failed(std::string(who) + " refuses " + std::to_string(x)));
    return true;
  };
  if (stage.op == "map") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      out.push_back({floor_mod(x * stage.at("multiply") + stage.at("add"), 1'000'003)});
      return true;
    });
  }
  if (stage.op == "map_fails") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      if (!refuse("map", x, out)) out.push_back({x});
      return true;
    });
  }
  if (stage.op == "filter") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      if (!is_congruent(stage, x)) out.push_back({x});
      return true;
    });
  }
  if (stage.op == "filter_fails") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      if (!refuse("filter", x, out) && x % 2 == 0) out.push_back({x});
      return true;
    });
  }
  if (stage.op == "take_while") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      if (is_congruent(stage, x)) return false;
      out.push_back({x});
      return true;
    });
  }
  if (stage.op == "scan") {
    std::int64_t state = 0;
    return each_value(in, [&](std::int64_t x, Items& out) {
      state = floor_mod(state + x, 1'000'003);
      out.push_back({state});
      return true;
    });
  }
  if (stage.op == "unique") {
    std::set<std::int64_t> seen;
    return each_value(in, [&](std::int64_t x, Items& out) {
      if (seen.insert(x).second) out.push_back({x});
      return true;
    });
  }
  if (stage.op == "flat_map") {
    return each_value(in, [&](std::int64_t x, Items& out) {
      for (std::int64_t i = 0; i < floor_mod(x, stage.at("modulus")); ++i)
        out.push_back({10 * x + i});
      return true;
    });
  }
  return std::nullopt;
}

/// Stages to which an error is an element like any other.
std::optional<Items> positional(Items in, const DrawnStage& stage) {
  if (stage.op == "enumerate") {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::int64_t number = stage.at("start") + static_cast<std::int64_t>(i);
      if (!in[i].error) in[i].value = floor_mod(number * 1009 + in[i].value, 1'000'003);
    }
    return in;
  }
  if (stage.op == "take") {
    if (stage.at("count") >= 0) in.resize(std::min(in.size(), size_at(stage, "count")));
    return in;
  }
  if (stage.op == "skip") {
    const std::size_t gone =
        stage.at("count") < 0 ? in.size() : std::min(in.size(), size_at(stage, "count"));
    in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(gone));
    return in;
  }
  if (stage.op == "shard") {
    Items out;
    for (std::size_t i = size_at(stage, "index"); i < in.size(); i += size_at(stage, "count")) {
      out.push_back(in[i]);
    }
    return out;
  }
  if (stage.op == "skip_errors") {
    const bool had_any = !in.empty();
    std::erase_if(in, [](const Item& item) { return item.error.has_value(); });
    if (had_any && in.empty()) throw AllFailed();
    return in;
  }
  if (stage.op == "prefetch") return in;
  return std::nullopt;
}

/// An error comes when it is met, before the unfinished batch. `give` gets the rows of each batch.
Items batched(const Items& in, const DrawnStage& stage,
              const std::function<void(const std::vector<std::int64_t>&, Items&)>& give) {
  Items out;
  std::vector<std::int64_t> rows;
  for (const Item& item : in) {
    if (item.error) {
      out.push_back(item);
      continue;
    }
    rows.push_back(item.value);
    if (rows.size() == size_at(stage, "size")) {
      give(rows, out);
      rows.clear();
    }
  }
  if (!rows.empty() && stage.at("drop_remainder") == 0) give(rows, out);
  return out;
}

/// Windows at 0, shift, 2 shift, ...; a failed element fails each that would hold it.
Items windows(const Items& in, const DrawnStage& stage) {
  Items out;
  const std::size_t size = size_at(stage, "size");
  const std::size_t stride = size_at(stage, "stride");
  for (std::size_t start = 0; start < in.size(); start += size_at(stage, "shift")) {
    std::vector<std::int64_t> values;
    std::optional<std::string> error;
    std::size_t held = 0;
    for (std::size_t k = 0; k < size && start + k * stride < in.size(); ++k) {
      const std::size_t at = start + k * stride;
      const Item& item = in[at];
      ++held;
      if (item.error && !error) {
        error = fmt::format("the window from element {} on needs element {}, which failed: {}",
                            start, at, *item.error);
      }
      values.push_back(item.value);
    }
    if (held < size && stage.at("drop_remainder") != 0) continue;
    out.push_back(error ? failed(*error) : Item{fold_values(values)});
  }
  return out;
}

/// The ring of tf.data's interleave; an outer error takes one place and its slot goes on at once.
Items interleaved(const Items& in, const DrawnStage& stage) {
  struct Open {
    std::int64_t next;
    std::int64_t end;
  };
  Items out;
  std::vector<std::optional<Open>> ring(size_at(stage, "cycle_length"));
  std::size_t outer = 0;
  std::size_t slot = 0;
  std::size_t idle = 0;  // visits in a row that found nothing
  while (idle <= ring.size()) {
    std::optional<Open>& open = ring[slot];
    while (!open && outer < in.size()) {
      const Item& item = in[outer++];
      idle = 0;
      if (item.error) {
        out.push_back(item);
      } else {
        open = Open{10 * item.value, 10 * item.value + floor_mod(item.value, stage.at("modulus"))};
      }
    }
    if (open) {
      idle = 0;
      for (std::int64_t k = 0; k < stage.at("block_length") && open; ++k) {
        if (open->next == open->end) {
          open.reset();
        } else {
          out.push_back({open->next++});
        }
      }
    } else {
      ++idle;
    }
    slot = (slot + 1) % ring.size();
  }
  return out;
}

/// The numbers of a pass over a stage: how many were read before it, and how many were opened.
struct Pass {
  std::uint64_t read;
  std::uint64_t opened;
};

Pass where_all_were_read(std::uint64_t pass) { return {pass, pass}; }

Items run(const DrawnPipeline& drawn, std::size_t stages, Pass pass);

Items run_all(const DrawnPipeline& drawn, Pass pass) {
  return run(drawn, drawn.stages.size(), pass);
}

/// The side that ends first ends all; an error of the left side comes before an end of the right.
Items zipped(const Items& left, const Items& right) {
  Items out;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].error) {
      out.push_back(left[i]);
      continue;
    }
    if (i >= right.size()) break;
    out.push_back(right[i].error ? right[i] : Item{fold(left[i].value, right[i].value)});
  }
  return out;
}

/// A repeat opens one pass when it is opened itself, and one behind each pass that it reads.
Items repeated(const DrawnPipeline& drawn, std::size_t index, Pass outer) {
  const DrawnStage& stage = drawn.stages[index];
  Items out;
  if (stage.op == "repeat") {
    const auto count = static_cast<std::uint64_t>(stage.at("count"));
    for (std::uint64_t pass = 0; pass < count; ++pass) {
      const std::uint64_t read = outer.read * count + pass;
      const Items once = run(drawn, index, {read, outer.opened + read});
      out.insert(out.end(), once.begin(), once.end());
    }
    return out;
  }
  const std::size_t count = size_at(stage, "count");
  for (std::uint64_t pass = 0; out.size() < count; ++pass) {
    const Items once = run(drawn, index, where_all_were_read((outer.read << 32) + pass));
    if (once.empty()) break;
    out.insert(out.end(), once.begin(), once.end());
  }
  out.resize(std::min(out.size(), count));
  return out;
}

/// Returns the result of the first `stages` stages.
Items run(const DrawnPipeline& drawn, std::size_t stages, Pass pass) {
  if (stages == 1) return source(drawn.stages.front());
  const std::size_t index = stages - 1;
  const DrawnStage& stage = drawn.stages[index];
  if (stage.op == "repeat" || stage.op == "repeat_take") return repeated(drawn, index, pass);
  // Stages before a cache run as in pass 0, and a shuffle opens its input only to read it.
  Pass below = pass;
  if (stage.op == "cache") below = where_all_were_read(0);
  if (stage.op == "shuffle") below = where_all_were_read(pass.read);
  const Items in = run(drawn, index, below);
  if (stage.op == "cache") return in;
  if (auto out = elementwise(in, stage)) return *out;
  if (auto out = positional(in, stage)) return *out;
  if (stage.op == "shuffle") {
    return reference_shuffle(
        in, static_cast<std::uint64_t>(stage.at("buffer")),
        reference_generator(kDefaultGlobalSeed, static_cast<std::uint64_t>(stage.at("seed")),
                            pass.opened, stage.at("reshuffle") != 0));
  }
  if (stage.op == "batch") {
    return batched(in, stage, [](const std::vector<std::int64_t>& rows, Items& out) {
      out.push_back({fold_values(rows)});
    });
  }
  if (stage.op == "batch_unbatch") {
    return batched(in, stage, [](const std::vector<std::int64_t>& rows, Items& out) {
      for (const std::int64_t row : rows) out.push_back({row});
    });
  }
  if (stage.op == "window") return windows(in, stage);
  if (stage.op == "interleave") return interleaved(in, stage);
  if (stage.op == "zip") return zipped(in, run_all({stage.other}, pass));
  if (stage.op == "concatenate") {
    Items out = in;
    const Items behind = run_all({stage.other}, where_all_were_read(pass.read));
    out.insert(out.end(), behind.begin(), behind.end());
    return out;
  }
  throw std::logic_error("no such operation: " + stage.op);
}

}  // namespace

Stream model_of_pipeline(const DrawnPipeline& drawn, std::uint64_t epoch) {
  Stream stream;
  for (const Item& item : run_all(drawn, where_all_were_read(epoch))) {
    stream.push_back(item.error ? "! " + *item.error : std::to_string(item.value));
  }
  return stream;
}

std::optional<Stream> model_unless_all_fails(const DrawnPipeline& drawn, std::uint64_t epoch) {
  try {
    return model_of_pipeline(drawn, epoch);
  } catch (const AllFailed&) {
    return std::nullopt;
  }
}

ModelledPipeline draw_modelled_pipeline(SeededRandom& random, std::size_t elements_max) {
  while (true) {
    ModelledPipeline modelled{draw_pipeline(random, 7), {}};
    for (const std::uint64_t epoch : {0, 1, 2}) {
      const std::optional<Stream> stream = model_unless_all_fails(modelled.drawn, epoch);
      if (!stream || stream->size() > elements_max) break;
      modelled.streams.push_back(*stream);
    }
    if (modelled.streams.size() == 3) return modelled;
  }
}

}  // namespace infeed::test
