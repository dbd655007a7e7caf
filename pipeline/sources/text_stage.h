#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/detail/text_feed.h>
#include <infeed/records/detail/text_parser.h>

namespace infeed {

template <>
struct Payload<detail::TextRows> {
  static std::size_t bytes(const detail::TextRows& rows) { return rows.bytes(); }
};

namespace detail {

using FileNames = std::shared_ptr<const std::vector<std::string>>;

/// The feed of one run: waiting for a server ends with the run.
class RunningFeed {
 public:
  RunningFeed(const StageContext& context, const FileNames& files, TextFeedOptions options);

  TextFeed& feed() { return *feed_; }
  /// Whether the user's own token made the feed give up: that is no element's fault.
  bool stopped_by_user() const { return users_stop_token_.stop_requested(); }

 private:
  std::stop_source stop_{std::nostopstate};
  std::stop_token users_stop_token_;
  std::optional<TextFeed> feed_;
  std::optional<std::stop_callback<std::function<void()>>> users_stop_;
  std::optional<CancellationWaker> end_waiting_;  ///< last: goes before the rest
};

/// What a feed threw as an element's error; throws on what is none (memory, the user's stop).
ErrorPointer error_of_feed(const RunningFeed& feed);

/// Batches of rows of text, and behind them the parser, in as many threads as are wanted.
struct TextSourceSpec {
  std::string name;
  std::string signature;  ///< of the parsing
  std::vector<std::string> files;
  std::shared_ptr<const TextParser> parser;
  Count size = 1;
  Count parallelism = 1;
  bool drop_remainder = false;
  StageName given_name = {};
};
Dataset<ColumnBatch> make_text_source(TextSourceSpec spec);

}  // namespace detail
}  // namespace infeed
