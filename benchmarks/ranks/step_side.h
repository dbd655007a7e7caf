#pragma once

#include <cstddef>
#include <memory>
#include <vector>

/// Why: what the ranks of a training exchange for a step shall cost hardly more than the same
/// collectives in a plain MPI program. So both are measured, on the same gradients.
namespace infeed::benchmarks {

/// Gradients of some variables, one behind the other, by replica of this rank.
using OwnGradients = std::vector<std::vector<float>>;

/// The same on each side. The floats and replicas of a rank: powers of two make a rank's replicas a
/// whole branch of the sum's tree, which the plain loops need.
struct StepSize {
  std::size_t variables = 4;
  std::size_t floats_of_variable = 25'000;
  std::size_t replicas_of_rank = 2;

  std::size_t floats() const { return variables * floats_of_variable; }
};

/// One way to exchange what a step needs. Every rank makes the same calls.
class StepSide {
 public:
  virtual ~StepSide() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Takes a step's gradients, and returns when all ranks have theirs. Not measured.
  virtual void prepare(const OwnGradients& own) = 0;
  /// Agrees on the step, exchanges the replicas' metrics, and sums the gradients.
  virtual void run() = 0;
  /// Returns the sums of the last step.
  virtual std::vector<float> sums() const = 0;
};

/// A training's own.
std::unique_ptr<StepSide> make_infeed_side(const StepSize& size);
/// Collectives of MPI in the place of each exchange of a training.
std::unique_ptr<StepSide> make_plain_side(const StepSize& size);
/// MPI_Allreduce for the gradients, whose sum isn't that of one process.
std::unique_ptr<StepSide> make_allreduce_side(const StepSize& size);

}  // namespace infeed::benchmarks
