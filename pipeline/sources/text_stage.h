#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/detail/text_feed.h>
#include <infeed/records/detail/text_parser.h>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "sources/url_stop.h"

namespace infeed {

template <>
struct Payload<detail::TextRows> {
  static std::size_t bytes(const detail::TextRows& rows) { return rows.bytes(); }
};

namespace detail {

using FileNames = std::shared_ptr<const std::vector<std::string>>;

/// The feed of one run. The end of the run ends a wait for a server or a pipe.
class RunningFeed {
 public:
  RunningFeed(const StageContext& context, const FileNames& files, TextFeedOptions options);
  ~RunningFeed();
  RunningFeed(const RunningFeed&) = delete;
  RunningFeed& operator=(const RunningFeed&) = delete;

  TextFeed& feed() { return *feed_; }
  /// Returns the feed's exception as an element's error. Throws it on if it isn't one.
  ErrorPointer error_in_flight() const { return stop_->error_in_flight(); }

 private:
  void take_threads(const std::string& file, ThreadsAhead& ahead);

  IteratorContext& run_;
  std::uint64_t reserved_bytes_ = 0;
  std::optional<ThreadShare> threads_;  ///< that decompress ahead, if the files allow it
  std::optional<UrlStop> stop_;
  std::optional<TextFeed> feed_;
};

/// Describes a source of text: batches of rows, then the parser, in any number of threads.
struct TextSourceSpec {
  std::string name;
  std::string signature;  ///< the parser's signature
  std::vector<std::string> files;
  std::shared_ptr<const TextParser> parser;
  Count size = 1;
  Count parallelism = 1;
  bool drop_remainder = false;
  bool drops_rows = false;  ///< the parser leaves out rows that it can't read
  StageName given_name = {};
};
Dataset<ColumnBatch> make_text_source(TextSourceSpec spec);

}  // namespace detail
}  // namespace infeed
