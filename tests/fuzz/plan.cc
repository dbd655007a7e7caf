#include <infeed/error.h>

#include "convert/conversion_plan.h"
#include "fuzz.h"

/// Plans of conversions begun by others, of any text: the difference from ours is reported in a few
/// words, and a number of shards in them is believed only within limits.
void infeed::fuzz::check(Input input) {
  constexpr std::string_view kOurs =
      R"({"version": 3, "shards": 4, "files": {"count": 2, "listed": [{"name": "a", "bytes": 7}]},
          "options": {"compression": "none", "seed": 1, "parts": [0.5, 0.5]}, "program": "0.1.0"})";
  const std::string there(input.rest());
  const std::string difference = tools::describe_difference(there, std::string(kOurs));
  require(!difference.empty(), "a difference has a name");
  require(difference.size() <= 6 * there.size() + 8 * kOurs.size(),
          "it is no longer than what it is about");
  const std::optional<std::uint32_t> shards = tools::shards_of_plan(there);
  require(!shards || (*shards > 0 && *shards <= 99'999), "shards can be counted");
}
