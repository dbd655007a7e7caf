#include "engine/work/input_driver.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/error.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/suite/busy.h"
#include "pipeline/suite/stage_alone.h"

// The thread that pulls a stage's input. The tests are the stage and its consumer.
namespace infeed::test {
namespace {

using detail::InputDriver;
using detail::ticks_now;
using detail::ticks_of_us;

/// An input of the numbers from 0 on, and its driver.
class DrivenInput : public ::testing::Test {
 protected:
  ~DrivenInput() override { hand_off_.stop(); }

  void begin() {
    driver_.emplace(
        run_, counters_, hand_off_, consumer_, input_, type_info<std::int64_t>(),
        InputDriver::Owner{.name = "driven",
                           .room = [this](std::size_t most) { return room(most); },
                           .is_wanted = [this] { return std::exchange(is_wanted_, false); },
                           .take = [this](Chunk& chunk) { take(chunk); },
                           .finish = [this](ErrorPointer failure) { finish(std::move(failure)); }});
  }
  void start() {
    const auto lock = hand_off_.lock();
    driver_->start();
  }
  /// Begins without room, and waits until the thread has seen that.
  void begin_without_room() {
    room_ = 0;
    begin();
    start();
    wait_until([this] { return rooms_asked_ >= 1; });
  }
  /// Gives the driver so much room, and tells it.
  void make_room(std::size_t elements) {
    const auto lock = hand_off_.lock();
    room_ = elements;
    driver_->wake();
  }
  /// Waits until `ready`, which is called with the lock held.
  void wait_until(const std::function<bool()>& ready) {
    auto lock = hand_off_.lock();
    EXPECT_TRUE(consumer_.wait(lock, ready));
  }
  void wait_until_finished() {
    wait_until([this] { return hand_off_.finished(); });
  }
  /// Returns the names of all threads that there were.
  std::vector<std::string> join() {
    hand_off_.stop();
    driver_->join();
    const std::lock_guard lock(names_mutex_);
    return names_;
  }
  void take_over() {
    const auto lock = hand_off_.lock();
    ASSERT_TRUE(driver_->may_be_taken());
    driver_->be_taken();
  }
  Pull pull_here(std::size_t want) {
    chunk_.clear();
    return driver_->pull_here(chunk_, want);
  }

  std::int64_t next_ = 0;                  ///< number of the input's next element
  std::int64_t count_ = 10;                ///< length of the input
  std::int64_t broken_ = -1;               ///< this element is an error
  std::function<void()> in_pull_ = [] {};  ///< called in each pull of the input
  std::vector<std::size_t> pulls_;         ///< how much each of them was asked for
  std::mutex names_mutex_;
  std::vector<std::string> names_;
  IteratorContext run_{IterateOptions{.on_thread_start = [this](std::string_view name) {
    const std::lock_guard lock(names_mutex_);
    names_.emplace_back(name);
  }}};
  detail::StageCounters input_counters_;
  detail::StageCounters counters_;
  ScriptedStage input_{
      {.run = run_, .counters = &input_counters_, .type = &type_info<std::int64_t>()},
      [this](Chunk& out, std::size_t want) { return pull_input(out, want); }};
  detail::HandOff hand_off_;
  detail::WaitPoint consumer_{hand_off_};
  Chunk chunk_{type_info<std::int64_t>()};

  // With the lock held:
  std::size_t room_ = 4;
  bool is_wanted_ = false;          ///< it is so once
  std::vector<std::size_t> mosts_;  ///< the different numbers that room() was given
  int rooms_asked_ = 0;
  std::vector<std::int64_t> taken_;
  std::vector<std::string> errors_;
  int ends_ = 0;
  ErrorPointer failure_;

  std::optional<InputDriver> driver_;  // last: it uses the members above

 private:
  Pull pull_input(Chunk& out, std::size_t want) {
    pulls_.push_back(want);
    in_pull_();
    if (next_ == count_) return Pull::end;
    for (; out.size() < want && next_ < count_; ++next_) {
      if (next_ == broken_) {
        out.set_error(std::make_shared<const Error>(ErrorCode::data_loss, "damaged"));
        ++next_;
        break;
      }
      out.append(std::int64_t{next_});
    }
    return Pull::values;
  }
  std::size_t room(std::size_t most) {
    if (mosts_.empty() || mosts_.back() != most) mosts_.push_back(most);
    ++rooms_asked_;
    consumer_.wake_all();
    return std::min(room_, most);
  }
  void take(Chunk& chunk) {
    const auto lock = hand_off_.lock();
    const auto values = chunk.values<std::int64_t>();
    taken_.insert(taken_.end(), values.begin(), values.end());
    if (chunk.has_error()) errors_.push_back(chunk.error()->message());
    chunk.clear();
  }
  void finish(ErrorPointer failure) {
    const auto lock = hand_off_.lock();
    ++ends_;
    failure_ = failure;
    hand_off_.finish_locked(std::move(failure));
  }
};

TEST_F(DrivenInput, IsPulledByOneThreadAsFarAsThereIsRoom) {
  begin();
  EXPECT_FALSE(driver_->is_serial());
  start();
  start();
  wait_until_finished();
  EXPECT_THAT(join(), ElementsAre("driven"));
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(pulls_, ElementsAre(4U, 4U, 4U, 4U));
  EXPECT_THAT(mosts_, ElementsAre(driver_->chunk().capacity()));
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(failure_, nullptr);
  EXPECT_EQ(counters_.full_ticks, 0U);
}

/// An error is one of the elements.
TEST_F(DrivenInput, IsPulledNoFartherThanTheConsumerHasSaid) {
  run_.set_elements_wanted(5);
  room_ = 3;
  broken_ = 2;
  begin();
  start();
  wait_until([this] { return !mosts_.empty() && mosts_.back() == 0; });
  EXPECT_THAT(mosts_, ElementsAre(5U, 2U, 0U));
  EXPECT_THAT(taken_, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(errors_, ElementsAre("damaged"));
  {
    const auto lock = hand_off_.lock();
    is_wanted_ = true;
    driver_->wake();
  }
  wait_until([this] { return mosts_.size() == 5; });
  EXPECT_THAT(mosts_, ElementsAre(5U, 2U, 0U, 1U, 0U)) << "it asks for more, one by one";
  EXPECT_THAT(taken_, ElementsAre(0, 1, 3, 4, 5));
}

TEST_F(DrivenInput, CountsTheTimeForWhichThereWasNoRoom) {
  const std::uint64_t before_ticks = ticks_now();
  begin_without_room();
  const std::uint64_t full_ticks = ticks_now();
  be_busy_for(std::chrono::milliseconds(2));  // longer than a thread takes to come
  make_room(0);
  wait_until([this] { return rooms_asked_ >= 2; });
  EXPECT_EQ(counters_.full_ticks, 0U);
  const std::uint64_t free_ticks = ticks_now();
  make_room(4);
  wait_until_finished();
  EXPECT_GE(counters_.full_ticks, free_ticks - full_ticks);
  EXPECT_LE(counters_.full_ticks, ticks_now() - before_ticks);
}

/// The consumer pulls the input then, so nobody waits for room.
TEST_F(DrivenInput, CountsNoTimeInTheSerialFormAsWithoutRoom) {
  const std::uint64_t before_ticks = ticks_now();
  begin_without_room();
  const std::uint64_t full_ticks = ticks_now();
  const std::uint64_t free_ticks = ticks_now();
  driver_->set_serial(true);
  const std::uint64_t counted_ticks = counters_.full_ticks;
  EXPECT_GE(counted_ticks, free_ticks - full_ticks);
  EXPECT_GT(counted_ticks, 0U);
  EXPECT_LE(counted_ticks, ticks_now() - before_ticks);
  make_room(4);
  EXPECT_THAT(taken_, IsEmpty());
  driver_->set_serial(false);
  wait_until_finished();
  EXPECT_EQ(counters_.full_ticks, counted_ticks);
  EXPECT_EQ(taken_.size(), 10U);
}

TEST_F(DrivenInput, IsPulledByTheConsumerInTheSerialForm) {
  count_ = 5;
  begin();
  EXPECT_FALSE(driver_->may_be_taken());
  driver_->set_serial(true);
  EXPECT_TRUE(driver_->is_serial());
  EXPECT_TRUE(driver_->was_set_serial());
  start();
  EXPECT_FALSE(driver_->keeps_input()) << "it hasn't been taken";
  take_over();
  EXPECT_TRUE(driver_->keeps_input());
  EXPECT_EQ(pull_here(3), Pull::values);
  EXPECT_THAT(chunk_.values<std::int64_t>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(pull_here(3), Pull::values);
  EXPECT_THAT(chunk_.values<std::int64_t>(), ElementsAre(3, 4));
  EXPECT_TRUE(driver_->keeps_input());
  EXPECT_EQ(ends_, 0);
  EXPECT_EQ(pull_here(3), Pull::end);
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(failure_, nullptr);
  EXPECT_FALSE(driver_->keeps_input());
  EXPECT_THAT(join(), IsEmpty());
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(DrivenInput, GoesBackToTheThreadWhenTheFormChanges) {
  run_.set_elements_wanted(5);
  begin();
  driver_->set_serial(true);
  take_over();
  EXPECT_EQ(pull_here(2), Pull::values);
  driver_->set_serial(false);
  EXPECT_FALSE(driver_->keeps_input());
  EXPECT_FALSE(driver_->keeps_input());
  start();
  wait_until([this] { return !mosts_.empty() && mosts_.back() == 0; });
  EXPECT_THAT(mosts_, ElementsAre(3U, 0U)) << "those that the consumer pulled itself count, too";
  EXPECT_THAT(taken_, ElementsAre(2, 3, 4));
}

TEST_F(DrivenInput, IsTakenOnceTheThreadHasPulled) {
  std::promise<void> is_pulled;
  std::promise<void> may_go_on;
  in_pull_ = [&] {
    if (pulls_.size() > 1) return;
    is_pulled.set_value();
    may_go_on.get_future().wait();
  };
  begin();
  start();
  is_pulled.get_future().wait();
  driver_->set_serial(true);
  auto lock = hand_off_.lock();
  EXPECT_FALSE(driver_->may_be_taken());
  may_go_on.set_value();
  EXPECT_TRUE(consumer_.wait(lock, [this] { return driver_->may_be_taken(); }));
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2, 3));
}

TEST_F(DrivenInput, IsTakenByAConsumerThatWaitsWhenTheFormChanges) {
  room_ = 0;
  begin();
  start();
  std::jthread consumer([this] { wait_until([this] { return driver_->may_be_taken(); }); });
  for (bool waits = false; !waits; std::this_thread::yield()) {
    const auto lock = hand_off_.lock();
    waits = consumer_.waiting() == 1 && rooms_asked_ > 0;
  }
  driver_->set_serial(true);
}

TEST_F(DrivenInput, BeginsInTheSerialFormAfterABriefPass) {
  const std::uint64_t brief_ticks = ticks_of_us(100);
  for (const auto& [last_ticks, is_brief] : std::vector<std::pair<std::uint64_t, bool>>{
           {0, false}, {1, true}, {brief_ticks - 1, true}, {brief_ticks, false}}) {
    counters_.last_pass_ticks = last_ticks;
    begin();
    EXPECT_EQ(driver_->is_serial(), is_brief) << last_ticks;
    EXPECT_FALSE(driver_->was_set_serial());
  }
  counters_.last_pass_ticks = 5;
  begin();
  start();
  EXPECT_THAT(join(), IsEmpty());
  driver_.reset();
  EXPECT_EQ(counters_.last_pass_ticks, 5U) << "a pass that wasn't pulled says nothing";
}

/// The pass is long once it has taken 200 us, with the stage's own work.
TEST_F(DrivenInput, LeavesTheSerialFormOnceAPassIsLong) {
  const std::uint64_t long_ticks = ticks_of_us(200);
  for (const bool is_long : {false, true}) {
    driver_.reset();
    counters_.last_pass_ticks = 1;
    counters_.work_time.ticks = 7000;  // before this pass
    begin();
    take_over();
    counters_.work_time.ticks += long_ticks - (is_long ? 1 : 2);
    EXPECT_EQ(pull_here(1), Pull::values);
    EXPECT_EQ(driver_->is_serial(), !is_long);
    EXPECT_EQ(driver_->keeps_input(), !is_long);
  }
}

TEST_F(DrivenInput, TakesDownHowLongThePassWas) {
  counters_.work_time.ticks = 7000;  // before this pass
  begin();
  driver_->set_serial(true);
  take_over();
  const std::uint64_t begin_ticks = ticks_now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pull_here(1), Pull::values);
  const std::uint64_t pulled_ticks = ticks_now() - begin_ticks;
  counters_.work_time.ticks += 500;
  driver_.reset();
  EXPECT_GT(counters_.last_pass_ticks, 501U);
  EXPECT_LE(counters_.last_pass_ticks, 501 + pulled_ticks);
}

TEST_F(DrivenInput, StopsTheHandOffWhenTheRunIsCancelled) {
  run_.cancel();
  begin();
  start();
  auto lock = hand_off_.lock();
  EXPECT_FALSE(consumer_.wait(lock, [] { return false; }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(DrivenInput, EndsWithTheFailureOfTheInput) {
  in_pull_ = [this] {
    if (pulls_.size() == 2) throw Error(ErrorCode::data_loss, "the input is broken");
  };
  begin();
  start();
  wait_until_finished();
  EXPECT_EQ(ends_, 1);
  ASSERT_NE(failure_, nullptr);
  EXPECT_EQ(failure_->message(), "the input is broken");
  EXPECT_THAT(taken_, ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace infeed::test
