#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/world.h>

/// Why: hosts need nothing from each other to read the same order, but a few bytes to be sure that
/// they do: that all have the same data and seed, and when a stream of unknown length is over.
/// Training exchanges gradients, too. How the bytes travel is exchangeable: one process, MPI, threads
/// in tests, or whatever a trainer has already.
///
///     const auto ranks = infeed::mpi_communicator();     // under mpirun; else no_communicator()
///     infeed::require_equal(*ranks, "seed", std::to_string(42));
///     for (const std::string& host : infeed::all_gather(*ranks, name, "names")) log(host.c_str());
///
/// Every rank makes the same calls in the same order. `purpose` is a few words for messages:
/// "step 12".
///
/// Errors: a rank that is dead or silent for longer than the limit is named by
/// RankLost("rank 2 has not answered for 4.0 s, in 'step 12' ..."). A rank that is slow but alive is
/// waited for. After an error the communicator is of no more use but for abort().
///
/// Thread-safety: exchange() and what is made of it is called by one thread at a time; send(),
/// receive_any(), check_alive() and abort() by any thread, also meanwhile.
namespace infeed {

/// Thrown as Error(unavailable): a rank is dead, silent, or doesn't come to the call that others wait
/// in.
class RankLost : public Error {
 public:
  RankLost(int rank, std::string message)
      : Error(ErrorCode::unavailable, std::move(message)), rank_(rank) {}
  /// Number of that rank in the communicator that throws; -1: it belongs to others of the job.
  int rank() const { return rank_; }

 private:
  int rank_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual World world() const = 0;

  /// Sends outgoing[r] to each rank r and fills incoming[r] with what rank r sends to this one. Both
  /// have one span a rank; the sizes must agree between sender and receiver. An empty span is not
  /// sent. The span of this rank itself is copied. Returns when all of incoming is there and
  /// outgoing may be changed.
  virtual void exchange(std::span<const std::span<const std::byte>> outgoing,
                        std::span<const std::span<std::byte>> incoming,
                        std::string_view purpose) = 0;

  /// Ends all processes of the job with a status other than 0. The reason is printed with this rank's
  /// number. Without other ranks, and in tests, it throws Error(cancelled) with the reason instead.
  [[noreturn]] virtual void abort(std::string_view reason) = 0;

  struct Message {
    int source = 0;
    int tag = 0;
    std::vector<std::byte> bytes = {};
  };
  /// Sends bytes to one rank, also to this one, for services: requests and answers. Copies them, and
  /// returns before they are received. Messages with the same tag arrive in their order. tag: 0 to
  /// 9,999.
  virtual void send(int rank, int tag, std::span<const std::byte> bytes) = 0;
  /// Returns the next message from any rank, or nothing if none came within the limit.
  virtual std::optional<Message> receive_any(std::chrono::nanoseconds limit) = 0;

  /// Throws RankLost if that rank gave no sign of life for the limit, while it was asked about all the
  /// time: a service that waits for its messages calls this several times a second. Does nothing where
  /// ranks can't be silent, or nobody can ask them.
  virtual void check_alive(int /*rank*/, std::string_view /*purpose*/) {}
};

/// Returns every rank's bytes, by rank. They may differ in length.
std::vector<std::string> all_gather(Communicator& communicator, std::string_view bytes,
                                    std::string_view purpose);

/// Returns when every rank has called it.
void barrier(Communicator& communicator, std::string_view purpose);

/// Throws Error(failed_precondition) at every rank if a rank's value differs from rank 0's; the
/// message names the ranks and both values (shortened to where they differ).
void require_equal(Communicator& communicator, std::string_view name, std::string_view value);

/// Returns the communicator of a process that works alone: rank 0 of 1.
std::unique_ptr<Communicator> no_communicator();

/// Returns a communicator among some ranks of a job, numbered in the order of `ranks`: those that
/// train, where others only prepare data. Only they call it, and `all` must outlive it. It exchanges;
/// messages are sent and received by `all`, and here they throw Error(failed_precondition).
/// Throws Error(invalid_argument) if `ranks` lacks this rank, or holds one twice or one that isn't.
std::unique_ptr<Communicator> group_of(Communicator& all, std::vector<int> ranks);

struct MpiOptions {
  /// A rank that gives no sign of life for so long is named. Only ranks that are waited for are
  /// asked for one; a thread answers, so a rank that computes is never taken for a dead one.
  std::chrono::nanoseconds limit = std::chrono::seconds(4);
  /// A rank that lives, but doesn't come to the call that others wait in, is named after this.
  std::chrono::nanoseconds call_limit = std::chrono::minutes(10);
  /// MPI's own start and its end, where all ranks wait for each other and nobody can ask, take no
  /// longer. Else this process ends with a status other than 0, and a line that names a rank which
  /// is stopped on its host; so the launcher ends the job. 0: INFEED_MPI_START_SECONDS, else 60 s.
  std::chrono::nanoseconds start_limit = std::chrono::nanoseconds(0);
  /// File of the plug-in; empty: libinfeed_mpi.so, looked for in INFEED_MPI_PLUGIN, beside the
  /// program, in ../lib of it, and where the system looks for libraries.
  std::string plugin = {};
};

/// Returns the communicator of a job that mpirun or srun started. It loads the plug-in that was built
/// with the system's MPI: the library itself has none in it. One at a time in a process; its end ends
/// MPI for this process. Throws Error(not_found) that says where the plug-in was looked for, and
/// Error(failed_precondition) if it belongs to another version of infeed.
std::unique_ptr<Communicator> mpi_communicator(const MpiOptions& options = {});

}  // namespace infeed
