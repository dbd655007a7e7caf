#include <algorithm>
#include <fmt/format.h>

#include <infeed/detail/meet_before_throwing.h>
#include <infeed/equal_steps.h>

namespace infeed::detail {
namespace {

constexpr char letter_of(StepPart part) {
  switch (part) {
    case StepPart::has_rows:
      return 'r';
    case StepPart::is_over:
      return 'o';
    case StepPart::has_failed:
      return 'f';
  }
  return 'f';
}

}  // namespace

bool agree_on_step(Communicator& communicator, std::uint64_t step, StepPart part,
                   const std::string& failure, StepsEnd end) {
  const std::string purpose = fmt::format("step {}", step);
  const std::vector<std::string> all = all_gather(communicator, letter_of(part) + failure, purpose);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].starts_with(letter_of(StepPart::has_failed))) continue;
    meet_before_throwing(communicator, purpose);
    throw Error(ErrorCode::cancelled,
                fmt::format("rank {} failed in step {}: {}", rank, step, all[rank].substr(1)));
  }
  const auto has_rows = [](const std::string& said) {
    return said.starts_with(letter_of(StepPart::has_rows));
  };
  return end == StepsEnd::with_first ? std::all_of(all.begin(), all.end(), has_rows)
                                     : std::any_of(all.begin(), all.end(), has_rows);
}

}  // namespace infeed::detail
