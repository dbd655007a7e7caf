#include "convert/together_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/world.h>

namespace infeed::tools {
namespace {

/// Returns nothing unless the text is i/n with i < n.
std::optional<Shard> parse_share(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Shard share;
  if (!infeed::detail::parse_whole(text.substr(0, slash), share.index)) return std::nullopt;
  if (!infeed::detail::parse_whole(text.substr(slash + 1), share.count)) return std::nullopt;
  if (share.index >= share.count) return std::nullopt;
  return share;
}

std::string check_share(const std::string& text) {
  if (parse_share(text)) return {};
  return fmt::format(
      "--shard takes i/n, as in 0/8 to 7/8, but '{}' is given; i is the number that "
      "the launcher gives to this process ($SLURM_ARRAY_TASK_ID, "
      "$JOB_COMPLETION_INDEX), n their count",
      text);
}

/// True if the launcher may start programs of MPI. Without one, MPI would take this process for the
/// only one.
bool has_mpi_launcher() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  return is_set("OMPI_COMM_WORLD_RANK") || is_set("PMI_RANK") || is_set("PMIX_RANK") ||
         is_set("SLURM_PROCID");
}

/// Returns the error with what to do where MPI can't join the processes.
Error with_advice(const Error& error) {
  return {error.code(), error.message() +
                            "; to convert with several processes without MPI, give each --shard "
                            "i/n and run --finish last; --alone makes all shards in this process"};
}

}  // namespace

void add_together_options(CLI::App& command, TogetherOptions& options) {
  CLI::Option* const overwrite = command.get_option("--overwrite");
  CLI::Option* const share =
      command
          .add_option("--shard", options.share,
                      "Make only each n-th shard from the i-th on (0/8 to 7/8), as one of n "
                      "processes on any machines that see the same input and output folder; "
                      "--finish comes last")
          ->check(check_share)
          ->type_name("i/n")
          ->excludes(overwrite);
  CLI::Option* const finish =
      command
          .add_flag("--finish", options.finish,
                    "Behind all --shard i/n: check that all shards are there and whole (--check: "
                    "read them), and write the manifest")
          ->excludes(overwrite)
          ->excludes(share);
  command
      .add_flag("--alone", options.alone,
                "Also under mpirun, srun or torchrun: this process makes all shards by itself")
      ->excludes(share)
      ->excludes(finish);
}

std::optional<Shard> share_of(const TogetherOptions& options) {
  return options.share.empty() ? std::nullopt : parse_share(options.share);
}

std::unique_ptr<Communicator> join_job(const TogetherOptions& options) try {
  if (options.alone || options.finish || !options.share.empty()) return nullptr;
  const auto [world, source] = detect_world();
  if (world.size == 1) return nullptr;
  if (!has_mpi_launcher()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("this is process {} of {} by {}, which starts no ranks of MPI",
                            world.rank, world.size, source));
  }
  auto ranks = mpi_communicator();
  if (ranks->world() == world) return ranks;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("this is rank {} of {} by {}, but MPI says rank {} of {}", world.rank,
                          world.size, source, ranks->world().rank, ranks->world().size));
} catch (const Error& error) {
  throw with_advice(error);
}

}  // namespace infeed::tools
