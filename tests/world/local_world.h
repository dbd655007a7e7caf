#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/error.h>

#include "world/exchange_checks.h"

namespace infeed::test {

/// A rank that fails by plan.
struct PlannedFailure {
  enum Kind { dies, falls_silent };
  static constexpr std::uint64_t kNextCall = ~std::uint64_t{0};
  int rank = 0;
  Kind kind = dies;
  std::uint64_t at_call = 0;  ///< the number of its exchange, from 0
};

/// The ranks of a job as threads of this process, with queues in memory. A test sees how a program
/// acts on a rank that dies or falls silent, without processes:
///
///     LocalWorld world(4, {{.rank = 2, .kind = PlannedFailure::dies, .at_call = 7}});
///     const std::vector<std::string> errors = world.run([](Communicator& ranks) { train(ranks); });
///     EXPECT_THAT(errors[0], HasSubstr("rank 2"));
///
/// A living rank is never named, however slow the machine is: the world knows who has failed.
class LocalWorld {
 public:
  explicit LocalWorld(int size, std::vector<PlannedFailure> failures = {},
                      std::chrono::nanoseconds limit = std::chrono::milliseconds(20))
      : limit_(limit), failures_(std::move(failures)) {
    const std::size_t count = static_cast<std::size_t>(size);
    is_gone_.resize(count);
    has_failed_.resize(count);
    messages_.resize(count);
    queues_.resize(count * count);
    for (int rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, World{rank, size}));
    }
  }

  /// Makes a rank die in its next exchange.
  void fail(int rank) {
    const std::lock_guard lock(mutex_);
    failures_.push_back({.rank = rank, .at_call = PlannedFailure::kNextCall});
  }

  Communicator& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// Runs the body on a thread a rank. Returns the text of each rank's exception; empty: it returned.
  std::vector<std::string> run(const std::function<void(Communicator&)>& body) {
    std::vector<std::string> errors(ranks_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        threads.emplace_back([&, rank] {
          try {
            body(*ranks_[rank]);
          } catch (const std::exception& error) {
            errors[rank] = error.what();
          }
          leave(rank);
        });
      }
    }
    return errors;
  }

 private:
  using Bytes = std::vector<std::byte>;

  class Rank final : public Communicator {
   public:
    Rank(LocalWorld& all, World world) : all_(all), world_(world) {}

    World world() const override { return world_; }
    void exchange(detail::Outgoing outgoing, detail::Incoming incoming,
                  std::string_view purpose) override {
      detail::check_exchange(world_, outgoing, incoming, purpose);
      std::unique_lock lock(all_.mutex_);
      all_.fail_by_plan(lock, world_.rank, calls_++);
      for (int other = 0; other < world_.size; ++other) {
        const auto& bytes = outgoing[static_cast<std::size_t>(other)];
        if (!bytes.empty()) {
          all_.queue(world_.rank, other).emplace_back(bytes.begin(), bytes.end());
        }
      }
      all_.changed_.notify_all();
      for (int other = 0; other < world_.size; ++other) {
        const auto& place = incoming[static_cast<std::size_t>(other)];
        if (!place.empty()) all_.take(lock, other, world_, place, purpose);
      }
    }
    [[noreturn]] void abort(std::string_view reason) override {
      const std::lock_guard lock(all_.mutex_);
      if (all_.aborted_.empty()) {
        all_.aborted_ = fmt::format("rank {} ended the job: {}", world_.rank, reason);
      }
      all_.changed_.notify_all();
      throw Error(ErrorCode::cancelled, all_.aborted_);
    }
    void send(int rank, int tag, std::span<const std::byte> bytes) override {
      detail::check_message(world_, rank, tag);
      const std::lock_guard lock(all_.mutex_);
      all_.throw_if_aborted();
      all_.messages_[static_cast<std::size_t>(rank)].push_back(
          {.source = world_.rank, .tag = tag, .bytes = {bytes.begin(), bytes.end()}});
      all_.changed_.notify_all();
    }
    std::optional<Message> receive_any(std::chrono::nanoseconds limit) override {
      std::unique_lock lock(all_.mutex_);
      std::deque<Message>& mine = all_.messages_[static_cast<std::size_t>(world_.rank)];
      all_.changed_.wait_for(lock, limit, [&] { return !mine.empty() || !all_.aborted_.empty(); });
      all_.throw_if_aborted();
      if (mine.empty()) return std::nullopt;
      Message message = std::move(mine.front());
      mine.pop_front();
      return message;
    }
    void check_alive(int rank, std::string_view purpose) override {
      const std::lock_guard lock(all_.mutex_);
      if (!all_.has_failed_[static_cast<std::size_t>(rank)]) return;
      throw detail::silent_rank(rank, "has not answered", all_.limit_, purpose, world_);
    }

   private:
    LocalWorld& all_;
    const World world_;
    std::uint64_t calls_ = 0;
  };

  std::deque<Bytes>& queue(int from, int to) {
    return queues_[static_cast<std::size_t>(from) * ranks_.size() + static_cast<std::size_t>(to)];
  }

  void throw_if_aborted() const {
    if (!aborted_.empty()) throw Error(ErrorCode::cancelled, aborted_);
  }

  /// Marks the rank as gone. With the last one that isn't silent, the silent ones end, too.
  void leave(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    is_gone_[rank] = true;
    changed_.notify_all();
  }

  void fail_by_plan(std::unique_lock<std::mutex>& lock, int rank, std::uint64_t call) {
    throw_if_aborted();
    for (const PlannedFailure& failure : failures_) {
      if (failure.rank != rank) continue;
      if (failure.at_call != call && failure.at_call != PlannedFailure::kNextCall) continue;
      is_gone_[static_cast<std::size_t>(rank)] = true;
      has_failed_[static_cast<std::size_t>(rank)] = true;
      changed_.notify_all();
      if (failure.kind == PlannedFailure::falls_silent) {
        changed_.wait(lock, [this] {
          return std::find(is_gone_.begin(), is_gone_.end(), false) == is_gone_.end();
        });
      }
      throw Error(ErrorCode::cancelled, fmt::format("rank {} failed by plan", rank));
    }
  }

  void take(std::unique_lock<std::mutex>& lock, int from, const World& to,
            std::span<std::byte> place, std::string_view purpose) {
    std::deque<Bytes>& waiting = queue(from, to.rank);
    const auto is_gone = [&] {
      return static_cast<bool>(is_gone_[static_cast<std::size_t>(from)]);
    };
    const auto is_there = [&] { return !waiting.empty() || !aborted_.empty(); };
    changed_.wait(lock, [&] { return is_there() || is_gone(); });
    if (!is_there()) changed_.wait_for(lock, limit_, is_there);
    throw_if_aborted();
    if (waiting.empty()) throw detail::silent_rank(from, "has not answered", limit_, purpose, to);
    if (waiting.front().size() != place.size()) {
      throw Error(ErrorCode::internal,
                  fmt::format("exchange in '{}': rank {} sent {} bytes, rank {} expected {}",
                              purpose, from, waiting.front().size(), to.rank, place.size()));
    }
    std::copy(waiting.front().begin(), waiting.front().end(), place.begin());
    waiting.pop_front();
  }

  const std::chrono::nanoseconds limit_;
  std::vector<PlannedFailure> failures_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string aborted_;
  std::vector<bool> is_gone_;
  std::vector<bool> has_failed_;                             ///< by plan
  std::vector<std::deque<Communicator::Message>> messages_;  ///< by their receivers
  std::vector<std::deque<Bytes>> queues_;                    ///< by sender and receiver
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Hands all calls on to another rank's communicator. Tests change some of them.
class ForwardingRank : public Communicator {
 public:
  explicit ForwardingRank(Communicator& rank) : rank_(rank) {}

  World world() const override { return rank_.world(); }
  void exchange(std::span<const std::span<const std::byte>> outgoing,
                std::span<const std::span<std::byte>> incoming, std::string_view purpose) override {
    rank_.exchange(outgoing, incoming, purpose);
  }
  [[noreturn]] void abort(std::string_view reason) override {
    rank_.abort(reason);
    std::terminate();  // the compiler doesn't know that a virtual function never returns
  }
  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    rank_.send(rank, tag, bytes);
  }
  std::optional<Message> receive_any(std::chrono::nanoseconds limit) override {
    return rank_.receive_any(limit);
  }
  void check_alive(int rank, std::string_view purpose) override {
    rank_.check_alive(rank, purpose);
  }

 private:
  Communicator& rank_;
};

}  // namespace infeed::test
