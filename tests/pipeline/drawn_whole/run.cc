#include "pipeline/drawn_whole/run.h"

#include <chrono>
#include <fmt/format.h>

namespace infeed::test {
namespace {

template <class T>
std::string shown(const T& element) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return std::to_string(element);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Record>) {
    return fmt::format("{} bytes {:016x}", element.size(), content_of(element));
  } else if constexpr (requires { element.size(); }) {
    return fmt::format("{} rows {:016x}", element.size(), content_of(element));
  } else if constexpr (requires { element.rows(); }) {
    return fmt::format("{} rows {:016x}", element.rows(), content_of(element));
  } else {
    return fmt::format("{:016x}", content_of(element));
  }
}

std::string shown_error(const Error& error, bool shows_places) {
  std::string text = fmt::format("{}{}: {}", error.is_terminal() ? "!! " : "! ",
                                 to_string(error.code()), error.message());
  if (!shows_places) return text;
  if (!error.file().empty()) text += " in " + error.file();
  if (error.record()) text += fmt::format(" record {}", *error.record());
  return text;
}

template <class T>
class RunOf final : public Run {
 public:
  RunOf(const Dataset<T>& dataset, IterateOptions options, bool shows_places)
      : iterator_(dataset.iterate(std::move(options))), shows_places_(shows_places) {}

  std::optional<std::string> next(Manner manner) override {
    try {
      return take_one(manner);
    } catch (const Error& error) {
      if (error.is_terminal()) ended_by_ = error.code();
      return shown_error(error, shows_places_);
    }
  }
  std::uint64_t position() const override { return iterator_.position(); }
  std::uint64_t order_hash() const override { return iterator_.order_hash(); }
  Checkpoint checkpoint() const override { return iterator_.checkpoint(); }
  void cancel() override { iterator_.cancel(); }
  PipelineStatistics statistics() const override { return iterator_.statistics(); }
  TuningReport tuning() const override { return iterator_.tuning(); }
  RecordingStatus recording() const override { return iterator_.recording(); }
  void freeze_tuning() override { iterator_.freeze_tuning(); }
  const MemoryAccount& memory() const override { return iterator_.memory(); }
  void set_memory_limit(std::uint64_t bytes) override { iterator_.set_memory_limit(bytes); }
  std::optional<ErrorCode> ended_by() const override { return ended_by_; }
  std::uint64_t largest_element_bytes() const override { return largest_element_bytes_; }

 private:
  std::optional<std::string> take_one(Manner manner) {
    if (manner == Manner::peek) {
      const std::span<T> seen = iterator_.peek();
      if (seen.empty()) return std::nullopt;
      std::string text = look_at(seen.front());
      iterator_.take(1);
      return text;
    }
    if (manner == Manner::poll) {
      while (true) {
        NextResult<T> result = iterator_.next_for(std::chrono::microseconds(200));
        if (result.ended()) return std::nullopt;
        if (result) return look_at(*result);
      }
    }
    if (manner == Manner::look) {
      const detail::WaitCheck check{
          .every = std::chrono::microseconds(200), .look = [] {}, .may_work = true};
      if (!iterator_.core_for_timer().refill(&check)) return std::nullopt;
    }
    const std::optional<T> element = iterator_.next();
    return element ? std::optional(look_at(*element)) : std::nullopt;
  }

  std::string look_at(const T& element) {
    largest_element_bytes_ =
        std::max<std::uint64_t>(largest_element_bytes_, sizeof(T) + detail::payload_bytes(element));
    return shown(element);
  }

  Iterator<T> iterator_;
  const bool shows_places_;
  std::optional<ErrorCode> ended_by_;
  std::uint64_t largest_element_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Run> start(const AnyDataset& dataset, IterateOptions options, bool shows_places) {
  return std::visit(
      [&]<class T>(const Dataset<T>& typed) -> std::unique_ptr<Run> {
        return std::make_unique<RunOf<T>>(typed, std::move(options), shows_places);
      },
      dataset);
}

Cardinality cardinality_of(const AnyDataset& dataset) {
  return std::visit([](const auto& typed) { return typed.cardinality(); }, dataset);
}

Stream take(Run& run, std::size_t count, Manner manner) {
  Stream stream;
  while (stream.size() < count) {
    std::optional<std::string> text = run.next(manner);
    if (!text) break;
    stream.push_back(std::move(*text));
    if (is_terminal(stream.back())) break;
  }
  return stream;
}

}  // namespace infeed::test
