#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/url_options.h>

namespace infeed::detail {

/// Ends waiting for a server with the run: a file is read at once, but an answer may take long to
/// come. What the user's own token ends is told apart.
class UrlStop {
 public:
  UrlStop(const StageContext& context, const std::vector<std::string>& files, UrlOptions& url);

  /// Whether the user's own token made a reader give up: that is no element's fault.
  bool stopped_by_user() const { return users_stop_token_.stop_requested(); }
  /// What a reader threw as an element's error; throws on what is none (memory, the user's stop).
  /// To be called in a catch block.
  ErrorPointer error_in_flight() const;

 private:
  std::stop_source stop_{std::nostopstate};
  std::stop_token users_stop_token_;
  std::optional<std::stop_callback<std::function<void()>>> users_stop_;
  std::optional<CancellationWaker> end_waiting_;  ///< last: goes before the rest
};

}  // namespace infeed::detail
