#include "engine/work/passing_error.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::detail {

void end_if_passing(const Error& error, Known known) {
  if (known == Known::errors || !is_passing(error)) return;
  Error terminal = error.reworded(
      error.code(),
      fmt::format("{}; it lies among elements that are passed over, so those behind it may not be "
                  "the ones that other hosts or the run before have there; resume from the last "
                  "checkpoint",
                  error.message()));
  terminal.as_terminal();
  throw Error(terminal);
}

std::uint64_t drop_slots(Chunk& in, std::uint64_t count, Known known) {
  const auto values = static_cast<std::size_t>(std::min<std::uint64_t>(count, in.size()));
  in.type().destroy(in.front(), values);
  in.drop_front(values);
  const ErrorPointer error = values < count ? in.take_error() : nullptr;
  if (error == nullptr) return values;
  end_if_passing(*error, known);
  return values + 1;
}

}  // namespace infeed::detail
