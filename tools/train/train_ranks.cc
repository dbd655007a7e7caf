#include "train/train_ranks.h"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

std::string text_of(const TrainShards& shards) {
  return Json{{"files", shards.files},
              {"bytes", shards.bytes},
              {"examples", shards.examples},
              {"seconds", shards.seconds},
              {"reused", shards.reused}}
      .dump();
}

TrainShards shards_of(const std::string& text) {
  const Json json = Json::parse(text);
  return {.files = json.at("files").get<std::vector<std::string>>(),
          .bytes = json.at("bytes").get<std::uint64_t>(),
          .examples = json.at("examples").get<std::uint64_t>(),
          .seconds = json.at("seconds").get<double>(),
          .reused = json.at("reused").get<bool>()};
}

}  // namespace

void begin_together(const TrainJob& job, const TrainRecipe& recipe, Terminal& terminal) {
  if (job.ranks == nullptr) return;
  terminal.line(
      fmt::format("{} ranks train together; rank 0 prints and saves", job.ranks->world().size));
  require_equal(*job.ranks, "version of infeed", INFEED_VERSION);
  require_equal(*job.ranks, "training",
                fmt::format("{} of {} in {}, batches of {}, {} epochs, seed {}{}", recipe.model,
                            job.slice, to_string(job.precision), recipe.batch, recipe.epochs,
                            job.seed, job.resume ? ", resumed" : ""));
}

TrainShards shards_of_chief(Communicator* ranks, const std::function<TrainShards()>& make) {
  if (ranks == nullptr) return make();
  std::string made;  // empty: it failed
  std::optional<Error> failed;
  if (ranks->world().rank == 0) {
    try {
      made = text_of(make());
    } catch (const Error& error) {
      failed = error;
    }
  }
  const std::string reason = failed ? failed->what() : "";
  const std::vector<std::string> all =
      all_gather(*ranks, made.empty() ? reason : made, "the shards that rank 0 makes");
  if (failed) throw Error(*failed);
  if (!all.front().starts_with("{")) {
    const bool is_stopped = all.front().starts_with(to_string(ErrorCode::cancelled));
    throw Error(is_stopped ? ErrorCode::cancelled : ErrorCode::unavailable,
                fmt::format("rank 0 failed: {}", all.front()));
  }
  return shards_of(all.front());
}

void record_by_rank(const World& world, std::string_view role) {
  const char* const file = std::getenv("INFEED_PROFILE");  // NOLINT(concurrency-mt-unsafe)
  if (file == nullptr || *file == '\0' || world.size == 1) return;
  const std::string own = fmt::format("{}.{}{}", file, role, world.rank);
  ::setenv("INFEED_PROFILE", own.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace infeed::tools
