#pragma once

#include <functional>
#include <optional>
#include <string>

#include <infeed/error.h>

/// Why: a job on several hosts is many processes that run the same program, and each must know which
/// of them it is. Launchers say so in environment variables, each in its own. A program that guesses
/// wrong trains on the same rows everywhere and doesn't notice.
///
///     const auto [world, source] = infeed::detect_world();
///     std::printf("rank %d of %d, by %s", world.rank, world.size, source.c_str());
///
/// The caller's own World comes first: under tensor or pipeline parallelism several processes read
/// the same rows, so the rank among those that read apart is not the launcher's.
namespace infeed {

/// The place of this process among those that do one job together.
struct World {
  int rank = 0;  ///< from 0
  int size = 1;  ///< number of processes, at least 1

  bool operator==(const World&) const = default;
};

/// Throws Error(invalid_argument) unless 0 <= rank < size.
void check_world(const World& world);

struct DetectedWorld {
  World world;
  /// The variables that said so: "RANK and WORLD_SIZE (torchrun)"; "no launcher" if no variable is set.
  std::string source;
};

struct DetectWorldOptions {
  /// Number of processes, for a launcher that says only the rank: an Indexed Job of Kubernetes, or
  /// PMIx. 0: the variable JOB_COMPLETIONS says it, which the job's description has to set.
  int size = 0;
  /// Returns the value of an environment variable; empty: std::getenv(). For tests.
  std::function<std::optional<std::string>(const std::string& name)> lookup = {};
};

/// Reads the variables of the launchers:
/// | launcher                            | rank                 | size                               |
/// |-------------------------------------|----------------------|------------------------------------|
/// | torchrun                            | RANK                 | WORLD_SIZE                         |
/// | mpirun of Open MPI                  | OMPI_COMM_WORLD_RANK | OMPI_COMM_WORLD_SIZE               |
/// | mpiexec of MPICH and Intel MPI      | PMI_RANK             | PMI_SIZE                           |
/// | any by PMIx                         | PMIX_RANK            | another launcher's, or the options |
/// | srun of Slurm (with SLURM_STEP_ID)  | SLURM_PROCID         | SLURM_STEP_NUM_TASKS, SLURM_NTASKS |
/// | an Indexed Job of Kubernetes        | JOB_COMPLETION_INDEX | JOB_COMPLETIONS, or the options    |
///
/// A launcher inside another one counts alone: torchrun that Slurm or Kubernetes starts once a node
/// (GROUP_WORLD_SIZE nodes), and mpirun within an allocation of Slurm. A shell in such an allocation
/// is no step, so its variables say nothing.
///
/// Throws Error(invalid_argument) if two launchers disagree, if a variable is there without the one
/// it belongs to, or holds no number. The message says which, and what to do. Without any variable
/// it is rank 0 of 1. Thread-safety: reads the environment, so no thread may change it meanwhile.
DetectedWorld detect_world(const DetectWorldOptions& options = {});

}  // namespace infeed
