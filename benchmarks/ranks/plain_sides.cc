#include <algorithm>
#include <array>
#include <mpi.h>

#include <infeed/device/all_reduce.h>

#include "ranks/step_side.h"

namespace infeed::benchmarks {
namespace {

constexpr std::size_t kBucketFloats = (std::size_t{32} << 20) / sizeof(float);
/// A training's messages before and behind the arithmetic: those up to this size need one exchange.
constexpr std::size_t kHeadBytes = 64;

/// The parts of some floats, one a rank.
struct Parts {
  Parts(std::size_t floats, int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t first = floats * rank / count;
      begins.push_back(static_cast<int>(first));
      counts.push_back(static_cast<int>(floats * (rank + 1) / count - first));
    }
  }

  std::vector<int> begins;
  std::vector<int> counts;
};

/// MPI's calls, without a training around them.
class PlainSide : public StepSide {
 public:
  explicit PlainSide(const StepSize& size) : size_(size) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    const auto count = static_cast<std::size_t>(ranks_);
    heads_.resize(count * kHeadBytes);
    // Metrics, numbers of gradients and of updates.
    outcome_.resize(size.replicas_of_rank * (48 + 4 * size.variables));
    outcomes_.resize(count * outcome_.size());
    summed_.resize(size.floats());
  }
  ~PlainSide() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void prepare(const OwnGradients& own) override {
    own_ = own;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void run() override {
    gather_heads();
    gather_heads();
    const int bytes = static_cast<int>(outcome_.size());
    MPI_Allgather(outcome_.data(), bytes, MPI_BYTE, outcomes_.data(), bytes, MPI_BYTE,
                  MPI_COMM_WORLD);
    std::vector<float*> replicas;
    for (std::vector<float>& replica : own_) replicas.push_back(replica.data());
    tree_reduce(replicas, 0, static_cast<std::int64_t>(size_.floats()));
    for (std::size_t begin = 0; begin < size_.floats(); begin += kBucketFloats) {
      add_up(begin, std::min(kBucketFloats, size_.floats() - begin));
    }
  }

  std::vector<float> sums() const override { return summed_; }

 protected:
  /// Sums some floats of all ranks.
  virtual void add_up(std::size_t begin, std::size_t floats) {
    const Parts parts(floats, ranks_);
    const auto mine = static_cast<std::size_t>(parts.counts[static_cast<std::size_t>(rank_)]);
    const auto count = static_cast<std::size_t>(ranks_);
    received_.resize(mine * count);
    const std::vector<int> counts(count, static_cast<int>(mine));
    std::vector<int> begins(count);
    std::vector<float*> rows;
    for (std::size_t rank = 0; rank < count; ++rank) {
      begins[rank] = static_cast<int>(rank * mine);
      rows.push_back(received_.data() + rank * mine);
    }
    MPI_Alltoallv(own_.front().data() + begin, parts.counts.data(), parts.begins.data(), MPI_FLOAT,
                  received_.data(), counts.data(), begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
    tree_reduce(rows, 0, static_cast<std::int64_t>(mine));
    MPI_Allgatherv(rows.front(), static_cast<int>(mine), MPI_FLOAT, summed_.data() + begin,
                   parts.counts.data(), parts.begins.data(), MPI_FLOAT, MPI_COMM_WORLD);
  }

  const float* own_sums() const { return own_.front().data(); }
  float* summed() { return summed_.data(); }

 private:
  void gather_heads() {
    const std::array<std::byte, kHeadBytes> head{};
    MPI_Allgather(head.data(), kHeadBytes, MPI_BYTE, heads_.data(), kHeadBytes, MPI_BYTE,
                  MPI_COMM_WORLD);
  }

  const StepSize size_;
  int rank_ = 0;
  int ranks_ = 0;
  OwnGradients own_;
  std::vector<std::byte> heads_;
  std::vector<std::byte> outcome_;
  std::vector<std::byte> outcomes_;
  std::vector<float> received_;
  std::vector<float> summed_;
};

class AllreduceSide final : public PlainSide {
 public:
  using PlainSide::PlainSide;

 protected:
  void add_up(std::size_t begin, std::size_t floats) override {
    MPI_Allreduce(own_sums() + begin, summed() + begin, static_cast<int>(floats), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  }
};

}  // namespace

std::unique_ptr<StepSide> make_plain_side(const StepSize& size) {
  return std::make_unique<PlainSide>(size);
}

std::unique_ptr<StepSide> make_allreduce_side(const StepSize& size) {
  return std::make_unique<AllreduceSide>(size);
}

}  // namespace infeed::benchmarks
