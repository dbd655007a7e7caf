#pragma once

#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/iterate_options.h>

#include "pipeline/drawn_whole/run.h"
#include "pipeline/drawn_whole/words.h"

namespace infeed::test {

/// Settings of one iteration of a drawn pipeline, none of which changes the elements.
struct Settings {
  IterateOptions options = {};
  Manner manner = Manner::next;
  /// A line for people.
  std::string text = {};
};

/// Executors that several iterations of one pipeline share.
class SharedExecutors {
 public:
  SharedExecutors();
  struct Named {
    std::string name;
    std::shared_ptr<Executor> executor;
  };
  const Named& any(Words& words) const { return words.any(all_); }
  std::shared_ptr<Executor> inline_one() const { return all_.front().executor; }

 private:
  std::vector<Named> all_;
};

Settings draw_settings(Words& words, const SharedExecutors& executors, std::uint64_t epoch);
/// Lets the run be recorded in a file of the folder.
void draw_recording(Words& words, const std::string& folder, Settings& settings);
/// One thread, nothing works ahead.
Settings serial_settings(const SharedExecutors& executors, std::uint64_t epoch);

}  // namespace infeed::test
