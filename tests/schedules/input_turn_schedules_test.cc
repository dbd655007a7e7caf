#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include <infeed/detail/hand_off.h>

#include "engine/threads/driver.h"
#include "engine/threads/input_turn.h"
#include "schedules/explore.h"

namespace infeed::schedules {
namespace {

/// Gives 0, 1, ... and finds out whether two threads pull it at the same time.
class Input {
 public:
  explicit Input(int count) : count_(count) {}

  std::optional<int> next() {
    check(!is_pulled_, "two threads pull the input");
    is_pulled_ = true;
    Scheduler::active()->point();
    is_pulled_ = false;
    if (next_ == count_) return std::nullopt;
    return next_++;
  }

 private:
  const int count_;
  int next_ = 0;
  bool is_pulled_ = false;
};

/// A stage with a driver, without elements and memory: a queue of one that a driver fills or, in
/// the serial form, the input itself.
class Driven {
 public:
  explicit Driven(int count) : input_(count) {}
  ~Driven() { hand_off_.stop(); }

  /// The consumer: the next number, or nothing at the end or behind a stop.
  std::optional<int> next() {
    if (has_input_ && !turn_.is_serial()) {
      has_input_ = false;
      turn_.give_back();
    }
    if (!has_input_) {
      if (!turn_.is_serial()) driver_.start(turn_, [this] { drive(); });
      if (const auto number = take()) return number;
    }
    return has_input_ ? pull_here() : std::nullopt;
  }
  void set_serial(bool serial) {
    const auto lock = hand_off_.lock();
    turn_.set_serial(serial);
  }
  void stop() { hand_off_.stop(); }
  bool has_finished() {
    const auto lock = hand_off_.lock();
    return hand_off_.finished();
  }

 private:
  std::optional<int> take() {
    auto lock = hand_off_.lock();
    const auto ready = [this] {
      return !numbers_.empty() || hand_off_.over() || turn_.driver_rests();
    };
    if (!values_.wait(lock, ready)) return std::nullopt;
    if (!numbers_.empty()) {
      const int number = numbers_.front();
      numbers_.pop_front();
      room_.wake_one();
      return number;
    }
    if (hand_off_.over()) return std::nullopt;
    turn_.take();
    has_input_ = true;
    return std::nullopt;
  }
  std::optional<int> pull_here() {
    const auto number = input_.next();
    if (!number) {
      hand_off_.finish();
      has_input_ = false;
      turn_.give_back();
    }
    return number;
  }
  void drive() {
    while (turn_.driver_goes_on()) {
      const auto number = input_.next();
      if (!number) return hand_off_.finish();
      auto lock = hand_off_.lock();
      if (!room_.wait(lock, [this] { return numbers_.empty(); })) return;
      numbers_.push_back(*number);
      values_.wake_one();
    }
  }

  Input input_;
  detail::HandOff hand_off_;
  detail::WaitPoint values_{hand_off_}, room_{hand_off_};
  detail::InputTurn turn_{hand_off_, values_};
  std::deque<int> numbers_;
  bool has_input_ = false;
  detail::DriverThread driver_;
};

void expect_all(Driven& driven, int count) {
  for (int i = 0; i < count; ++i) check(driven.next() == i, "each number once, in order");
  check(!driven.next() && !driven.next(), "then the end");
}

constexpr ExploreOptions kMany{.schedules_max = 6'000, .random = 2'000};

TEST(InputTurnSchedules, FormsChangeAtAnyMoment) {
  expect_no_finding(
      "serial and back",
      [] {
        Driven driven(3);
        std::thread tuner([&] {
          driven.set_serial(true);
          driven.set_serial(false);
        });
        expect_all(driven, 3);
        tuner.join();
      },
      kMany);
}

TEST(InputTurnSchedules, BeginsSerial) {
  expect_no_finding(
      "parallel and back",
      [] {
        Driven driven(3);
        driven.set_serial(true);
        std::thread tuner([&] {
          driven.set_serial(false);
          driven.set_serial(true);
        });
        expect_all(driven, 3);
        tuner.join();
      },
      kMany);
}

TEST(InputTurnSchedules, StopsAtAnyMoment) {
  expect_no_finding(
      "serial and stop",
      [] {
        Driven driven(3);
        std::thread tuner([&] { driven.set_serial(true); });
        std::thread stopper([&] { driven.stop(); });
        int count = 0;
        while (const auto number = driven.next()) check(*number == count++, "in order");
        tuner.join();
        stopper.join();
      },
      kMany);
}

TEST(InputTurnSchedules, WaitsThatEndForNothing) {
  ExploreOptions options = kMany;
  options.run.surprises_max = 1;
  expect_no_finding(
      "serial, woken for nothing",
      [] {
        Driven driven(2);
        std::thread tuner([&] { driven.set_serial(true); });
        expect_all(driven, 2);
        tuner.join();
      },
      options);
}

}  // namespace
}  // namespace infeed::schedules
