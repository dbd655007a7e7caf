#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/random_knobs.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

// Workers come and go while others hold the cores, in every stage whose workers the tuner changes.
// If a wake-up reaches a worker that goes, and isn't passed on, the stage stands for ever. The
// watchdog then fails the run, and names who waits for whom.
//
// A policy that changes knobs again and again would wake the stages that it left standing. These
// policies change nothing until elements have come since the last change.
namespace infeed::test {
namespace {

using std::chrono::microseconds;

/// How often each test repeats its work: once by default.
int rounds() {
  const char* const given = std::getenv("INFEED_TEST_ROUNDS");
  return given != nullptr ? std::atoi(given) : 1;
}

/// False in a thread that takes the serial form, of which only the elements count.
thread_local bool takes_time = true;

void spend(microseconds time) {
  if (takes_time) compute_for(time);
}

/// A policy that ends.
class EndingPolicy : public TuningPolicy {
 public:
  /// True if elements have come since its last change.
  bool is_over() const { return is_over_; }

  TuningDecision observe(const TuningObservation& seen) final {
    ++looks_;
    if (seen.elements == 0 && looks_ > 1) return {};
    return decide(seen);
  }

 protected:
  virtual TuningDecision decide(const TuningObservation& seen) = 0;
  std::uint64_t looks() const { return looks_; }
  void end() { is_over_ = true; }

 private:
  std::uint64_t looks_ = 0;
  std::atomic<bool> is_over_{false};
};

/// Sets all knobs at random, so many times.
class ManyChanges final : public EndingPolicy {
 public:
  ManyChanges(std::uint64_t seed, int changes) : random_(seed), changes_left_(changes) {}

 protected:
  TuningDecision decide(const TuningObservation& seen) override {
    // Elements of the window that began with a change may have come before it.
    if (looks() <= changed_at_ + 1 && changed_at_ != 0) return {};
    if (changes_left_ == 0) {
      end();
      return {};
    }
    --changes_left_;
    changed_at_ = looks();
    return random_.observe(seen);
  }

 private:
  RandomKnobs random_;
  int changes_left_;
  std::uint64_t changed_at_ = 0;
};

/// Sets the workers of all stages to a few, once, and goes on looking for a while.
class OneChange final : public EndingPolicy {
 public:
  OneChange(std::uint64_t looks_before, std::int64_t workers)
      : looks_before_(looks_before), workers_(workers) {}

 protected:
  TuningDecision decide(const TuningObservation& seen) override {
    constexpr std::uint64_t kLooksAfter = 12;
    TuningDecision decision;
    if (++looks_with_elements_ == looks_before_ + kLooksAfter) end();
    if (looks_with_elements_ != looks_before_) return decision;
    for (const KnobState& knob : seen.knobs) {
      if (knob.kind == KnobKind::workers) decision.settings.push_back({knob.id, workers_});
    }
    return decision;
  }

 private:
  const std::uint64_t looks_before_;
  const std::int64_t workers_;
  std::uint64_t looks_with_elements_ = 0;
};

struct Numbered {
  std::int64_t number;
};
struct Numbers {
  std::vector<std::int64_t> numbers;
};

class ChangedWorkers : public ::testing::Test {
 protected:
  static constexpr std::int64_t kEndless = std::int64_t{1} << 40;

  enum class Order { kept, any };

  /// Elements come under any policy, and are those of the serial form.
  void expect_elements(const Dataset<std::int64_t>& dataset, Order order = Order::kept) {
    constexpr int kChanges = 25;
    constexpr int kRunsWithOneChange = 3;
    for (int round = 0; round < rounds(); ++round) {
      expect_elements(dataset, order, std::make_shared<ManyChanges>(random_(), kChanges));
      for (int run = 0; run < kRunsWithOneChange; ++run) {
        const auto policy = std::make_shared<OneChange>(1 + random_.below(10), random_.below(3));
        expect_elements(dataset, order, policy);
      }
    }
  }

  /// Numbers in batches, filled by `fill`, as the sums of batches.
  template <class Fill>
  static Dataset<std::int64_t> batched(const Dataset<std::int64_t>& numbers, std::int64_t size,
                                       Fill fill) {
    return numbers | batch_into<Numbered>(size, fill, {.parallelism = autotune}) | map(&sum);
  }
  static std::int64_t sum(const Batch<Numbered>& batch) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) sum += batch.row(i).number;
    return sum;
  }
  std::string write_records() const {
    constexpr std::int64_t kRecords = 4000;
    RecordWriter writer(folder_.file("records"));
    for (std::int64_t i = 0; i < kRecords; ++i) {
      const std::vector<std::int64_t> numbers(static_cast<std::size_t>(i % 7), i);
      ExampleBuilder builder;
      builder.integers("number", i).integers("numbers", std::span<const std::int64_t>(numbers));
      writer.write(builder.encode());
    }
    writer.close();
    return folder_.file("records");
  }

  SeededRandom random_;
  TemporaryFolder folder_{test::memory_folder()};

 private:
  void expect_elements(const Dataset<std::int64_t>& dataset, Order order,
                       const std::shared_ptr<EndingPolicy>& policy) {
    const auto got = elements_beside_others(dataset, policy);
    if (order == Order::any) return;
    takes_time = false;
    auto serial = dataset.iterate({.executor = Executor::inline_()});
    std::size_t same = 0;
    while (same < got.size() && got[same] == serial.next()) ++same;
    takes_time = true;
    ASSERT_EQ(same, got.size()) << "the element there is another than that of the serial form";
  }

  /// Returns the elements until the policy is over.
  static std::vector<std::int64_t> elements_beside_others(
      const Dataset<std::int64_t>& dataset, const std::shared_ptr<EndingPolicy>& policy) {
    const BusyCores busy;
    std::vector<std::int64_t> got;
    auto iterator =
        dataset.iterate({.executor = Executor::threads(8),
                         .tuner = {.look_every = std::chrono::milliseconds(1), .policy = policy},
                         .watchdog = std::chrono::minutes(1)});
    try {
      while (!policy->is_over()) got.push_back(iterator.next().value());
    } catch (const Error& error) {
      ADD_FAILURE() << "after " << got.size() << " elements: " << error.what();
    }
    return got;
  }
};

TEST_F(ChangedWorkers, OfInterleaveOverSmallFiles) {
  std::vector<std::string> files;
  for (int i = 0; i < 200; ++i) {
    files.push_back(folder_.write(std::to_string(i), std::to_string(i) + "\n7\n"));
  }
  const auto open = [files](std::int64_t x) {
    return lines(files[static_cast<std::size_t>(x) % files.size()]);
  };
  const auto number = [](const Record& line) {
    return std::int64_t{std::stoll(std::string(line.bytes()))};
  };
  for (const bool ordered : {true, false}) {
    expect_elements(range(kEndless) |
                        interleave(open, {.parallelism = autotune, .ordered = ordered}) |
                        map(number),
                    ordered ? Order::kept : Order::any);
  }
}

TEST_F(ChangedWorkers, OfInterleaveOverSmallDatasets) {
  const auto open = [](std::int64_t x) { return slices({x, x + 1, x + 2}); };
  for (const bool ordered : {true, false}) {
    expect_elements(
        range(kEndless) | interleave(open, {.parallelism = autotune, .ordered = ordered}),
        ordered ? Order::kept : Order::any);
  }
}

TEST_F(ChangedWorkers, OfMap) {
  for (const microseconds time : {microseconds(0), microseconds(30), microseconds(900)}) {
    const auto computes = [time](std::int64_t x) {
      spend(time);
      return x;
    };
    for (const bool ordered : {true, false}) {
      expect_elements(
          range(kEndless) | map(computes, {.parallelism = autotune, .ordered = ordered}),
          ordered ? Order::kept : Order::any);
    }
  }
}

/// Answers one question after the other, in a separate thread.
class Server {
 public:
  std::int64_t ask(std::int64_t question) {
    Asked asked;
    std::unique_lock lock(mutex_);
    asked_.push_back(&asked);
    changed_.notify_all();
    changed_.wait(lock, [&] { return asked.is_answered; });
    return question;
  }

 private:
  struct Asked {
    bool is_answered = false;
  };

  void answer(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !asked_.empty(); })) {
      Asked& asked = *asked_.front();
      asked_.pop_front();
      lock.unlock();
      compute_for(microseconds(100));
      lock.lock();
      asked.is_answered = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Asked*> asked_;
  std::jthread thread_{[this](const std::stop_token& stop) { answer(stop); }};
};

TEST_F(ChangedWorkers, OfMapWhoseFunctionWaits) {
  const auto server = std::make_shared<Server>();
  const auto asks = [server](std::int64_t x) { return server->ask(x); };
  for (const bool ordered : {true, false}) {
    expect_elements(range(kEndless) | map(asks, {.parallelism = autotune, .ordered = ordered}),
                    ordered ? Order::kept : Order::any);
  }
}

TEST_F(ChangedWorkers, OfPrefetch) {
  for (const microseconds time : {microseconds(0), microseconds(100)}) {
    const auto computes = [time](std::int64_t x) {
      spend(time);
      return x;
    };
    expect_elements(range(kEndless) | map(computes) | prefetch());
  }
}

TEST_F(ChangedWorkers, OfBatchInto) {
  for (const microseconds time : {microseconds(0), microseconds(20), microseconds(200)}) {
    const auto fill = [time](std::int64_t x, const Row<Numbered>& row) {
      spend(time);
      row.column(&Numbered::number) = x;
    };
    expect_elements(batched(range(kEndless), time.count() == 0 ? 100 : 32, fill));
  }
}

TEST_F(ChangedWorkers, OfBatchIntoBehindASlowInput) {
  const auto computes = [](std::int64_t x) {
    spend(microseconds(100));
    return x;
  };
  const auto fill = [](std::int64_t x, const Row<Numbered>& row) {
    row.column(&Numbered::number) = x;
  };
  expect_elements(batched(range(kEndless) | map(computes), 4, fill));
}

TEST_F(ChangedWorkers, OfParseBatch) {
  expect_elements(records(write_records(), {.block_bytes = 16 << 10}) | repeat() |
                  parse_batch(ExampleSchema<Numbered>().feature("number", &Numbered::number), 32,
                              {.parallelism = autotune}) |
                  map(&sum));
}

TEST_F(ChangedWorkers, OfParseRaggedBatch) {
  const auto schema = ExampleSchema<Numbers>().feature("numbers", &Numbers::numbers, {});
  const auto first = [](const RaggedBatch<Numbers>& batch) {
    return batch.column<0>().values().front();
  };
  expect_elements(records(write_records(), {.block_bytes = 16 << 10}) | repeat() |
                  parse_ragged_batch(schema, 32, {.parallelism = autotune}) | map(first));
}

TEST_F(ChangedWorkers, OfRecords) {
  const auto size = [](const Record& record) {
    return static_cast<std::int64_t>(record.bytes().size());
  };
  expect_elements(
      records(write_records(),
              {.block_bytes = 16 << 10, .parallelism = autotune, .read_ahead_bytes = 128 << 10}) |
      repeat() | map(size));
}

TEST_F(ChangedWorkers, OfAllStagesAtOnce) {
  const auto open = [](std::int64_t x) { return range(x, x + 40); };
  const auto computes = [](std::int64_t x) {
    spend(microseconds(5));
    return x;
  };
  const auto fill = [](std::int64_t x, const Row<Numbered>& row) {
    row.column(&Numbered::number) = x;
  };
  expect_elements(batched(range(kEndless) | interleave(open, {.parallelism = autotune}) |
                              map(computes, {.parallelism = autotune}) | prefetch(),
                          16, fill) |
                  prefetch());
}

}  // namespace
}  // namespace infeed::test
