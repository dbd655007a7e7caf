#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/world.h>

namespace infeed {
namespace {

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "detect_world: " + why);
}

constexpr const char* kSayIt = "or give World(rank, size) yourself";

/// The variables of one launcher. All of them stand from the innermost to the outermost.
struct Launcher {
  const char* name;
  const char* rank_variable;
  std::array<const char*, 2> size_variables;  ///< the first one that is set counts
  const char* only_with = nullptr;            ///< a variable without which the others say nothing
  bool may_lack_size = false;                 ///< it never says the size: another one has to
};

constexpr Launcher kTorchrun{"torchrun", "RANK", {"WORLD_SIZE", nullptr}};
constexpr Launcher kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}};
constexpr Launcher kPmi{"PMI", "PMI_RANK", {"PMI_SIZE", nullptr}};
constexpr Launcher kPmix{"PMIx", "PMIX_RANK", {nullptr, nullptr}, nullptr, true};
constexpr Launcher kSlurm{
    "Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_STEP_ID"};
constexpr Launcher kIndexedJob{
    "an Indexed Job", "JOB_COMPLETION_INDEX", {"JOB_COMPLETIONS", nullptr}, nullptr, true};
constexpr std::array kLaunchers{&kTorchrun, &kOpenMpi, &kPmi, &kPmix, &kSlurm, &kIndexedJob};

/// A launcher whose variables are set.
struct Found {
  const Launcher* launcher;
  int rank = 0;
  std::optional<int> size = std::nullopt;
  std::string variables = {};  ///< "RANK and WORLD_SIZE"

  std::string text() const {
    return fmt::format("{} (rank {}{})", variables, rank,
                       size ? fmt::format(" of {}", *size) : std::string());
  }
};

int number_in(const std::string& variable, const std::string& text, int least) {
  int number = 0;
  if (!detail::parse_whole(text, number) || number < least) {
    refuse(fmt::format("{} is '{}', which is no whole number from {} on; unset it, {}", variable,
                       text, least, kSayIt));
  }
  return number;
}

std::optional<Found> find(const Launcher& launcher, const Lookup& lookup) {
  if (launcher.only_with != nullptr && !lookup(launcher.only_with)) return std::nullopt;
  const std::optional<std::string> rank = lookup(launcher.rank_variable);
  Found found{.launcher = &launcher, .variables = launcher.rank_variable};
  for (const char* const variable : launcher.size_variables) {
    const std::optional<std::string> size = variable == nullptr ? std::nullopt : lookup(variable);
    if (!size) continue;
    if (!rank && launcher.may_lack_size) continue;  // JOB_COMPLETIONS alone harms nobody
    if (!rank) {
      refuse(
          fmt::format("{} is set ({}), but {} isn't, so a launcher ({}) has said how many there "
                      "are, but not which this is; set both or neither, {}",
                      variable, *size, launcher.rank_variable, launcher.name, kSayIt));
    }
    found.size = number_in(variable, *size, 1);
    found.variables += fmt::format(" and {}", variable);
    break;
  }
  if (!rank) return std::nullopt;
  found.rank = number_in(launcher.rank_variable, *rank, 0);
  if (!found.size && !launcher.may_lack_size) {
    refuse(fmt::format(
        "{} is set ({}), but {} isn't, so a launcher ({}) has said which this is, but "
        "not how many there are; set both or neither, {}",
        launcher.rank_variable, *rank, launcher.size_variables[0], launcher.name, kSayIt));
  }
  if (found.size && found.rank >= *found.size) {
    refuse(fmt::format("{} says rank {} of {}; a rank is less than the number of processes",
                       found.variables, found.rank, *found.size));
  }
  return found;
}

/// True if `outer` describes what started `inner`, and not this process.
bool is_started_by(const Found& inner, const Found& outer, const Lookup& lookup) {
  if (inner.launcher == &kOpenMpi) return outer.launcher == &kSlurm;  // its daemons
  if (inner.launcher != &kTorchrun) return false;
  const std::optional<std::string> nodes = lookup("GROUP_WORLD_SIZE");
  if (!nodes) return false;
  const int count = number_in("GROUP_WORLD_SIZE", *nodes, 1);
  return outer.size ? *outer.size == count : outer.rank < count;
}

bool agrees(const Found& a, const Found& b) {
  return a.rank == b.rank && (!a.size || !b.size || *a.size == *b.size);
}

std::optional<std::string> from_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

void check_world(const World& world) {
  if (world.rank >= 0 && world.rank < world.size) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("rank {} of {} processes: a rank is at least 0 and less than their number",
                  world.rank, world.size));
}

DetectedWorld detect_world(const DetectWorldOptions& options) {
  const Lookup lookup = options.lookup ? options.lookup : Lookup(from_environment);
  std::vector<Found> all;
  for (const Launcher* const launcher : kLaunchers) {
    if (std::optional<Found> found = find(*launcher, lookup)) all.push_back(*found);
  }
  if (all.empty()) {
    if (options.size > 1) {
      refuse(
          fmt::format("{} processes are expected, but no launcher's variable says which this is; "
                      "start it by torchrun, mpirun, srun or as an Indexed Job, {}",
                      options.size, kSayIt));
    }
    return {{}, "no launcher"};
  }
  const Found& inner = all.front();
  std::optional<int> size = inner.size;
  for (const Found& other : all) {
    if (is_started_by(inner, other, lookup)) continue;
    if (!agrees(inner, other)) {
      refuse(fmt::format("{} and {} disagree; unset those that are left over from another job, {}",
                         inner.text(), other.text(), kSayIt));
    }
    if (!size) size = other.size;
  }
  if (size && options.size > 0 && *size != options.size) {
    refuse(fmt::format("{} says {} processes, but {} are expected", inner.variables, *size,
                       options.size));
  }
  if (!size && options.size > 0) size = options.size;
  if (!size) {
    refuse(fmt::format(
        "{} is set ({}), but nothing says how many processes there are; give the "
        "number as DetectWorldOptions::size{}, {}",
        inner.variables, inner.rank,
        inner.launcher == &kIndexedJob ? ", or set JOB_COMPLETIONS in the job's description" : "",
        kSayIt));
  }
  const World world{inner.rank, *size};
  check_world(world);
  return {world, fmt::format("{} ({})", inner.variables, inner.launcher->name)};
}

}  // namespace infeed
