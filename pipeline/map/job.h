#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

namespace infeed::detail {

/// Some neighbouring elements that one thread processes with the user's function.
struct Job {
  enum class State { waiting, running, done };

  struct Failure {
    std::size_t results_before;
    ErrorPointer error;
  };

  Job(const TypeInfo& in_type, std::size_t capacity) : in(in_type, capacity) {}

  /// Moves results to a chunk that stands for `want` elements at most then; an error ends it.
  /// Returns false if nothing is left.
  bool hand_over(Chunk& to, std::size_t want);

  Chunk in;
  /// The results, without the errors between them: a chunk for each failure would need room for all
  /// that may follow it.
  std::optional<Chunk> out;
  std::deque<Failure> failures;  ///< errors of the function, in order
  std::size_t handed_over = 0;   ///< results that have left `out`
  std::uint64_t position = 0;
  std::uint64_t elements = 0;
  std::uint64_t result_bytes = 0;  ///< bytes that came into `out` and `failures`
  HeldBytes held;                  ///< memory of `in` and the results
  std::uint64_t ticks = 0;         ///< time of the function
  State state = State::waiting;
};

/// The jobs of a stage in input order, from when they are cut until their results are taken.
///
/// Thread-safety: none; the queue's lock guards it.
class JobList {
 public:
  explicit JobList(bool ordered) : ordered_(ordered) {}

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  Job& first() { return *jobs_.front(); }
  Job& last() { return *jobs_.back(); }
  void add(std::unique_ptr<Job> job) { jobs_.push_back(std::move(job)); }
  /// Makes a job of the rest of one that stopped. That one is done as far as it came.
  void add_rest_of(Job& job);
  /// Returns the first job that nobody has begun; null: there is none.
  Job* first_waiting();
  bool has_waiting() const;
  /// Returns how many jobs could be taken now.
  std::size_t ready() const;
  /// Takes the first job if it is done, or without an order any job that is done; null: there is
  /// none.
  std::unique_ptr<Job> take_done();

 private:
  const bool ordered_;
  std::deque<std::unique_ptr<Job>> jobs_;
  std::size_t waiting_from_ = 0;  ///< jobs before this index are begun, later ones may be
};

/// The recent cost of an element, and how many elements make a job.
///
/// Thread-safety: none; the queue's lock guards it.
class JobCosts {
 public:
  explicit JobCosts(std::uint64_t result_bytes_each) : result_bytes_each_(result_bytes_each) {}

  void note(const Job& job);
  /// Returns the bytes that the results of `elements` elements are expected to take.
  std::uint64_t result_bytes(std::uint64_t elements) const { return elements * result_bytes_each_; }
  /// Returns how many elements make one job (about 600 us, and 1 MiB); 1 while nothing is known.
  std::size_t elements_per_job(std::uint64_t bytes_each) const;
  /// Returns true if handing even 1,024 elements to another thread (20 us) costs more than calling
  /// the function.
  bool is_cheap() const;
  /// Returns true if a job has several elements.
  bool is_brief() const;

 private:
  std::uint64_t ticks_each_ = 0;     ///< smoothed; 0: not known
  std::uint64_t result_bytes_each_;  ///< size of the largest recent result
};

}  // namespace infeed::detail
