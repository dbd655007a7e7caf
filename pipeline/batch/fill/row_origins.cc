#include "batch/fill/row_origins.h"

namespace infeed::detail {

void RowOrigins::note_placed(BatchInFill& batch, const InputRows& rows, std::size_t count,
                             std::uint64_t number) {
  if (!is_on_) return;
  batch.origins.push_back({batch.placed, count, number});
  if (rows.chunk) pulled_.add(number, count, {rows.position + rows.placed, count});
}

void RowOrigins::note_given(const BatchInFill& batch, std::uint64_t position) {
  std::uint64_t to = 0;
  auto failed = batch.failed.begin();
  for (const BatchInFill::Rows& rows : batch.origins) {
    const std::uint64_t end = rows.first + rows.count;
    for (std::uint64_t row = rows.first; row < end;) {
      const bool fails = failed != batch.failed.end() && *failed < end;
      const std::uint64_t count = (fails ? *failed : end) - row;
      given_.add(position, to, count, rows.number + row - rows.first);
      to += count;
      row += count;
      if (!fails) continue;
      ++row;
      ++failed;
    }
  }
}

std::optional<RowOrigins::Origin> RowOrigins::find(std::uint64_t position,
                                                   std::uint64_t row) const {
  const auto number = given_.find(position, row);
  if (!number) return std::nullopt;
  const auto pulled = pulled_.find(*number);
  return Origin{*number, pulled ? std::optional(pulled->position) : std::nullopt};
}

}  // namespace infeed::detail
