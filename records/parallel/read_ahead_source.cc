#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "parallel/record_source.h"

namespace infeed::detail {
namespace {

/// Decodes on one thread. Invariants: hand_off_ guards all members behind it; the reader and room_
/// belong to the one thread.
class DecodingAhead final : public RecordSource {
 public:
  DecodingAhead(const ParallelRecordReaderOptions& options, RecordReader& reader, DamageSink damage)
      : options_(options), reader_(reader), damage_(std::move(damage)) {}
  ~DecodingAhead() override { hand_off_.stop(); }

  std::size_t read(std::span<Record> out) override {
    while (given_ == records_.size()) {
      given_ = 0;
      records_.clear();  // also when what follows throws
      std::optional<Item> item = take();
      if (!item) return 0;
      if (auto* records = std::get_if<Records>(&*item)) {
        records_ = std::move(*records);
      } else if (auto* range = std::get_if<DamagedRange>(&*item)) {
        damage_(*range);
      } else {
        std::rethrow_exception(std::get<std::exception_ptr>(std::move(*item)));
      }
    }
    const std::size_t count = std::min(out.size(), records_.size() - given_);
    std::move(records_.begin() + given_, records_.begin() + given_ + count, out.begin());
    given_ += count;
    return count;
  }

  /// Called from inside the reader's reading call.
  void put(DamagedRange range) {
    const auto lock = hand_off_.lock();
    push(std::move(range), 0);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Records = std::vector<Record>;
  using Item = std::variant<Records, DamagedRange, std::exception_ptr>;
  struct Sized {
    Item item;
    std::uint64_t bytes;
  };

  bool has_work() const {
    return !is_over_ && bytes_ < std::max<std::uint64_t>(options_.read_ahead_bytes, 1);
  }

  void read_ahead(Lock& lock) {
    lock.unlock();
    Records records;
    std::exception_ptr error;  // it must not pass through the user's function
    call_around(options_.around_decoding, [&] {
      try {
        // A reader may give few at a time. They wait in room for no more than those.
        const std::size_t count = reader_.read(room_);
        records.assign(std::make_move_iterator(room_.begin()),
                       std::make_move_iterator(room_.begin() + static_cast<std::ptrdiff_t>(count)));
      } catch (...) {
        error = std::current_exception();
      }
    });
    std::uint64_t bytes = 0;
    for (const Record& record : records) bytes += record.size() + sizeof(Record);
    HandOff::lock_again(lock);
    is_over_ = records.empty();
    if (error) {
      push(std::move(error), 0);  // the taker then holds the only reference
    } else if (!is_over_) {
      push(std::move(records), bytes);
    }
    has_items_.wake_one();
  }

  void push(Item item, std::uint64_t bytes) {
    bytes_ += bytes;
    items_.push_back({std::move(item), bytes});
  }

  /// Returns the next item; empty at the end, however often it is called.
  std::optional<Item> take() {
    auto lock = hand_off_.lock();
    if (workers_.count() == 0) workers_.set_count(1);
    const auto is_there = [this] { return !items_.empty() || is_over_; };
    if (!is_there()) {
      call_around(options_.around_waiting, [&] { has_items_.wait(lock, is_there); });
    }
    if (items_.empty()) return std::nullopt;
    Sized first = std::move(items_.front());
    items_.pop_front();
    bytes_ -= first.bytes;
    workers_.wake_one();
    return std::move(first.item);
  }

  const ParallelRecordReaderOptions options_;
  RecordReader& reader_;
  const DamageSink damage_;
  Records room_ = Records(512);  ///< the thread's, for what the reader gives at once
  Records records_;              ///< taken from the queue by the consumer
  std::size_t given_ = 0;        ///< records_ that were handed out
  HandOff hand_off_;
  WaitPoint has_items_{hand_off_};
  std::deque<Sized> items_;
  std::uint64_t bytes_ = 0;
  bool is_over_ = false;
  Workers<RecordReader> workers_{
      hand_off_,
      {.begin = [this] { begin_thread("reader", options_.on_thread_start); },
       .claim = [this](std::size_t) { return has_work() ? &reader_ : nullptr; },
       .has_work = [this] { return has_work(); },
       .run = [this](Lock& lock, RecordReader&) { read_ahead(lock); }}};
};

}  // namespace

ReadAheadSource make_read_ahead_source(const ParallelRecordReaderOptions& options,
                                       RecordReader& reader, DamageSink damage) {
  auto source = std::make_unique<DecodingAhead>(options, reader, std::move(damage));
  DamageSink from_reader = [to = source.get()](const DamagedRange& range) { to->put(range); };
  return {std::move(source), std::move(from_reader)};
}

}  // namespace infeed::detail
