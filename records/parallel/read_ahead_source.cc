#include <algorithm>
#include <deque>
#include <exception>
#include <thread>
#include <utility>
#include <variant>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/start_threads.h>

#include "parallel/record_source.h"

namespace infeed::detail {
namespace {

class DecodingAhead final : public RecordSource {
 public:
  DecodingAhead(const ParallelRecordReaderOptions& options, RecordReader& reader, DamageSink damage)
      : bytes_max_(std::max<std::uint64_t>(options.read_ahead_bytes, 1)),
        on_thread_start_(options.on_thread_start),
        around_decoding_(options.around_decoding),
        around_waiting_(options.around_waiting),
        reader_(reader),
        damage_(std::move(damage)) {}
  ~DecodingAhead() override { hand_off_.stop(); }

  bool fetch(std::vector<Record>& out) override {
    if (!thread_.joinable()) thread_ = start_thread<std::jthread>([this] { run(); });
    while (true) {
      Item item = take();
      if (auto* records = std::get_if<Records>(&item)) {
        out = std::move(*records);
        return true;
      }
      if (auto* range = std::get_if<DamagedRange>(&item)) {
        damage_(*range);
      } else if (auto error = std::get<std::exception_ptr>(std::move(item))) {
        std::rethrow_exception(std::move(error));
      } else {
        return false;
      }
    }
  }

  void put(DamagedRange range) { put(Item(std::move(range)), 0); }

 private:
  using Records = std::vector<Record>;
  /// An error that is none is the end.
  using Item = std::variant<Records, DamagedRange, std::exception_ptr>;
  struct Sized {
    Item item;
    std::uint64_t bytes;
  };

  void run() {
    begin_thread("reader", on_thread_start_);
    // Handed over when the handler has let go of it: the reader is then the only one that holds it.
    std::exception_ptr error;
    try {
      constexpr std::size_t kBatch = 512;
      while (true) {
        Records records(kBatch);
        records.resize(read(records));
        if (records.empty()) break;
        std::uint64_t bytes = 0;
        for (const Record& record : records) bytes += record.size() + sizeof(Record);
        if (!put(Item(std::move(records)), bytes)) return;
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (error) put(Item(std::move(error)), 0);
    put(Item(std::exception_ptr()), 0);
  }

  std::size_t read(Records& records) {
    std::size_t count = 0;
    std::exception_ptr error;  // not through somebody else's function
    call_around(around_decoding_, [&] {
      try {
        count = reader_.read(records);
      } catch (...) {
        error = std::current_exception();
      }
    });
    if (error) std::rethrow_exception(std::move(error));
    return count;
  }

  /// False when nobody wants anything any more.
  bool put(Item item, std::uint64_t bytes) {
    auto lock = hand_off_.lock();
    if (!has_room_.wait(lock, [this] { return bytes_ < bytes_max_; })) return false;
    bytes_ += bytes;
    items_.push_back({std::move(item), bytes});
    lock.unlock();
    has_items_.wake_one();
    return true;
  }

  Item take() {
    auto lock = hand_off_.lock();
    if (items_.empty()) {
      call_around(around_waiting_,
                  [&] { has_items_.wait(lock, [this] { return !items_.empty(); }); });
    }
    if (const auto* last = std::get_if<std::exception_ptr>(&items_.front().item);
        last != nullptr && *last == nullptr) {
      return items_.front().item;  // stays: the end comes again and again
    }
    Sized first = std::move(items_.front());
    items_.pop_front();
    const bool was_full = bytes_ >= bytes_max_;
    bytes_ -= first.bytes;
    lock.unlock();
    if (was_full) has_room_.wake_one();
    return std::move(first.item);
  }

  const std::uint64_t bytes_max_;
  const std::function<void(std::string_view)> on_thread_start_;
  const ParallelRecordReaderOptions::Around around_decoding_;
  const ParallelRecordReaderOptions::Around around_waiting_;
  RecordReader& reader_;
  const DamageSink damage_;
  HandOff hand_off_;
  WaitPoint has_room_{hand_off_};
  WaitPoint has_items_{hand_off_};
  std::deque<Sized> items_;
  std::uint64_t bytes_ = 0;
  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace

ReadAheadSource make_read_ahead_source(const ParallelRecordReaderOptions& options,
                                       RecordReader& reader, DamageSink damage) {
  auto source = std::make_unique<DecodingAhead>(options, reader, std::move(damage));
  DamageSink from_reader = [to = source.get()](const DamagedRange& range) { to->put(range); };
  return {std::move(source), std::move(from_reader)};
}

}  // namespace infeed::detail
