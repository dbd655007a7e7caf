#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/iterator.h>

#include "pipeline/suite/counted_memory.h"

/// Why: "the hard limit for all buffers together" is tested with the figures of a counting
/// allocator and the system, not with the account's own. A case is a pipeline, its limit, and the
/// memory that may come on top: the results of calls under way, whose size nobody knows before.
namespace infeed::memory_limit {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// For threads, chunks, readers' blocks and other small things.
inline constexpr std::uint64_t kSlackBytes = 16 * kMiB;
/// Bytes that may be left when the iterator is gone: libraries take some once, and keep them.
inline constexpr std::uint64_t kLeftoverBytes = kMiB / 2;

inline constexpr std::size_t kPixels = 224 * 224 * 3;
/// Pixels of three floats: 588 KiB.
struct Image {
  std::array<float, kPixels> pixels;
};

/// Bytes beyond those of the process before iterate().
struct Figures {
  std::uint64_t counted_peak = 0;     ///< by the allocator
  std::uint64_t resident_peak = 0;    ///< by the system
  std::uint64_t account_peak = 0;     ///< MemoryAccount::peak_bytes()
  std::uint64_t statistics_peak = 0;  ///< the greatest sum of all stages' buffered_bytes
  std::uint64_t counted_after = 0;    ///< held when the iterator is gone, but the dataset isn't
  std::uint64_t resident_after = 0;
  std::uint64_t elements = 0;
  std::string outcome = "whole";  ///< or what ended the iteration
  double seconds = 0;
};

struct MemoryCase {
  std::string name;
  std::uint64_t limit_bytes = 0;
  /// Calls that may be under way at once, and the bytes of one result.
  std::uint64_t calls = 0;
  std::uint64_t element_bytes = 0;
  std::string on_top = {};  ///< the memory on top, in words
  /// The consumer holds an element of this size while it works; 0: it drops each before.
  std::uint64_t consumer_bytes = 0;
  /// Bytes that the dataset keeps by its contract: a cache.
  std::uint64_t kept_bytes = 0;
  /// One of its elements is larger than the limit, so that it may end with resource_exhausted.
  bool may_refuse = false;
  std::function<Figures(const MemoryCase&)> run = {};

  std::uint64_t allowed_bytes() const {
    return limit_bytes + calls * element_bytes + consumer_bytes + kSlackBytes;
  }
};

/// Measures the process's memory beyond its base, and the time.
class Meter {
 public:
  Meter();
  /// Peaks count from here on.
  void restart_peaks();
  /// Asks the iterator's statistics.
  void look(const PipelineStatistics& statistics);
  /// Call it while the iterator exists.
  void note_account(const MemoryAccount& account) { figures_.account_peak = account.peak_bytes(); }
  void note_peaks();
  /// Call it when the iterator is gone.
  Figures end();
  Figures& figures() { return figures_; }

 private:
  std::uint64_t resident_base_;
  test::CountedMemory counted_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Figures figures_;
};

/// The consumer's work.
struct Consumer {
  std::uint64_t elements_max = UINT64_MAX;
  std::chrono::microseconds step{0};  ///< time of its work for `elements_per_step` elements
  std::uint64_t elements_per_step = 1;
  bool holds = false;  ///< keeps the element while it works
};

template <class T>
void consume(Iterator<T>& iterator, const Consumer& consumer, Meter& meter) {
  while (meter.figures().elements < consumer.elements_max) {
    auto element = iterator.next();
    if (!element) return;
    if (!consumer.holds) element.reset();
    if (++meter.figures().elements % consumer.elements_per_step != 0) continue;
    if (consumer.step.count() > 0) std::this_thread::sleep_for(consumer.step);
    meter.look(iterator.statistics());
  }
}

/// Notes that the limit didn't suffice; any other error is a failure of the case.
inline void note_error(const Error& error, Meter& meter) {
  if (error.code() != ErrorCode::resource_exhausted) throw error;
  meter.figures().outcome = "refused";
}

template <class T>
Figures measure(const MemoryCase& memory_case, const Dataset<T>& dataset, Consumer consumer) {
  consumer.holds = memory_case.consumer_bytes > 0;
  Meter meter;
  try {
    auto iterator = dataset.iterate({.memory_bytes_max = memory_case.limit_bytes});
    try {
      consume(iterator, consumer, meter);
    } catch (const Error& error) {
      note_error(error, meter);
    }
    meter.note_account(iterator.memory());
    meter.note_peaks();
  } catch (const Error& error) {
    note_error(error, meter);
  }
  return meter.end();
}

std::vector<MemoryCase> element_cases();  ///< vectors and texts
std::vector<MemoryCase> batch_cases();
std::vector<MemoryCase> record_cases();

}  // namespace infeed::memory_limit
