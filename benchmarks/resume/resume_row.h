#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/record.h>

/// Why: a resume must cost the same after a day as after a minute. A row runs a pipeline up to an
/// element, saves, describes the pipeline anew, and measures how long it takes until that element
/// is there again.
namespace infeed::resume {

struct Cost {
  double run_seconds = 0;     ///< up to the checkpoint
  double resume_seconds = 0;  ///< from iterate() to the next element
  std::uint64_t checkpoint_bytes = 0;
  bool is_same = false;  ///< the run and the resume gave the same next element
};

struct ResumeRow {
  std::string stage;
  std::string pipeline;
  std::function<Cost(std::uint64_t element)> run;
  std::string why_not = {};  ///< the reason why it may take longer than a second
};

inline std::int64_t number_of(std::int64_t element) { return element; }
inline std::int64_t number_of(const Record& record) {
  return static_cast<std::int64_t>(std::hash<std::string_view>()(record.bytes()));
}
inline std::int64_t number_of(const std::string& text) {
  return static_cast<std::int64_t>(std::hash<std::string>()(text));
}
template <class A, class B>
std::int64_t number_of(const std::pair<A, B>& element) {
  return number_of(element.first) * 31 + number_of(element.second);
}
template <class T>
std::int64_t number_of(const std::vector<T>& elements) {
  std::int64_t number = static_cast<std::int64_t>(elements.size());
  for (const T& element : elements) number = number * 31 + static_cast<std::int64_t>(element);
  return number;
}
inline std::int64_t number_of(const Batch<std::int64_t>& batch) {
  std::int64_t number = 0;
  for (std::size_t row = 0; row < batch.size(); ++row) number = number * 31 + batch[row];
  return number;
}
inline std::int64_t number_of(const ColumnBatch& batch) {
  std::int64_t number = batch.rows();
  for (const Column& column : batch.columns()) {
    const Tensor& values = column.values();
    const std::string_view text(reinterpret_cast<const char*>(values.data()), values.bytes());
    number = number * 31 + static_cast<std::int64_t>(std::hash<std::string_view>()(text) >> 1);
  }
  return number;
}

/// Makes a row. `make()` describes the pipeline anew each time.
template <class Make>
ResumeRow row(std::string stage, std::string pipeline, Make make, std::string why_not = {}) {
  const auto run = [make = std::move(make)](std::uint64_t element) {
    using Clock = std::chrono::steady_clock;
    const auto seconds_since = [](Clock::time_point begin) {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    Cost cost;
    const auto begin = Clock::now();
    auto before = make().iterate();
    while (before.position() < element) {
      const auto elements = before.peek();
      before.take(std::min<std::size_t>(elements.size(), element - before.position()));
      if (elements.empty()) break;
    }
    cost.run_seconds = seconds_since(begin);
    const std::string text = before.checkpoint().to_text();
    cost.checkpoint_bytes = text.size();
    const auto begin_resume = Clock::now();
    auto resumed = make().iterate({.resume = Checkpoint::from_text(text)});
    const auto next = resumed.next();
    cost.resume_seconds = seconds_since(begin_resume);
    const auto expected = before.next();
    cost.is_same = next && expected && number_of(*next) == number_of(*expected) &&
                   before.position() == element + 1;
    return cost;
  };
  return {std::move(stage), std::move(pipeline), run, std::move(why_not)};
}

/// Stages over numbers in memory, and sources that need no files.
std::vector<ResumeRow> stage_rows(std::uint64_t element);
/// Sources of files, which lie in `folder`, and file caches.
std::vector<ResumeRow> file_rows(std::uint64_t element, const std::string& folder);

}  // namespace infeed::resume
