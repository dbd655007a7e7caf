#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/url_options.h>

namespace infeed::detail {

/// Ends a wait for a server or for a pipe's writer together with the run. (A file is read at once,
/// but these may take long.) It knows whether the user's own token stopped the reader.
class UrlStop {
 public:
  UrlStop(const StageContext& context, UrlOptions& url);

  /// Returns true if the user's own token stopped a reader. That isn't an element's error.
  bool stopped_by_user() const { return users_stop_token_.stop_requested(); }
  /// Returns a reader's exception as an element's error. Throws it on if it isn't one (memory,
  /// threads, the user's stop). Call it in a catch block.
  ErrorPointer error_in_flight() const;

 private:
  std::stop_source stop_;
  std::stop_token users_stop_token_;
  std::optional<std::stop_callback<std::function<void()>>> users_stop_;
  std::optional<CancellationWaker> end_waiting_;  ///< last: destroyed before the other members
};

}  // namespace infeed::detail
