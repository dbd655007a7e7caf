#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

#include "pipeline/drawn_whole/checks.h"
#include "pipeline/drawn_whole/faults.h"

/// Iterations whose system calls fail now and then.
namespace infeed::test {
namespace {

/// Draws how many calls there are for each one that fails: 2 to 256. No thread at all may start, but
/// a read that is always interrupted never ends.
std::uint64_t draw_each(Words& words, Fault fault) {
  return std::uint64_t{1} << words.between(fault == Fault::no_thread ? 0 : 1, 8);
}

/// True for an iterator's own executor, too.
bool is_of_tbb(const Settings& settings) {
  return settings.text.starts_with("executor tbb") || settings.text.starts_with("executor own");
}

/// True if each error that arises is seen at the end. A batch of text lines gives the rows before a
/// read that failed, and the error next, which a stage that ends the stream early doesn't ask for, as
/// assert_cardinality does behind one batch too many; of a shard it may be the other host's element.
bool shows_errors(const Plan& plan) {
  constexpr std::array<std::string_view, 11> kHiding = {
      "assert_cardinality", "skip_errors", "take",  "take_while", "skip", "shard", "window", "zip",
      "window_unbatch",     "sample",      "choose"};
  return !plan.any([&](const Step& step) {
    return std::find(kHiding.begin(), kHiding.end(), step.op) != kHiding.end();
  });
}

bool has_text(const Stream& stream, std::string_view text) {
  return std::any_of(stream.begin(), stream.end(), [text](const std::string& element) {
    return element.find(text) != std::string::npos;
  });
}

}  // namespace

void Checks::check_faults() {
  const auto fault = static_cast<Fault>(words_.below(std::size(kFaultNames)));
  Settings drawn = settings();
  // A thread that TBB doesn't get is missing in the whole process from then on.
  while (fault == Fault::no_thread && is_of_tbb(drawn)) drawn = settings();
  // A recording that can't be written says so, and nothing else is to be known of it.
  if (fault == Fault::io_error) drawn.options.recording = {};
  const std::uint64_t each = draw_each(words_, fault);
  begin(fmt::format("{}, one call in {}", kFaultNames[static_cast<int>(fault)], each), drawn);
  const AnyDataset dataset = drawn_.has_seeds ? drawn_.describe(false, true) : *shared_;
  std::unique_ptr<Run> run;
  Stream got;
  {
    const Faults faults(fault, drawn_.surroundings.folder, words_(), each);
    try {
      run = drawn_.start(dataset, drawn);
      const HangWatch::Shown shown(watch_, *run);
      got = take(*run, kElementsMax, drawn.manner);
    } catch (const Error& error) {
      const bool is_expected =
          fault == Fault::io_error ||
          (fault == Fault::no_thread && error.code() == ErrorCode::resource_exhausted);
      if (!is_expected) find(fmt::format("iterate() threw {}", error.what()));
      return;
    }
    // It works until it is destroyed.
    if (is_cut_) run = nullptr;
  }
  if (run == nullptr) return;
  switch (fault) {
    case Fault::short_io:
      expect_end(*run, got, 0);
      break;
    case Fault::no_thread:
      judge_stopped(*run, std::move(got), ErrorCode::resource_exhausted);
      break;
    case Fault::io_error:
      expect_account_empty(*run);
      // Where other errors are there, they may take the place of these.
      if (has_errors_ || drawn_.is_unordered || !shows_errors(drawn_.plan)) return;
      if (got == expected_ || has_text(got, "input/output error") ||
          has_text(got, "the disk is full")) {
        return;
      }
      find("reads or writes failed, and no error says so");
      expect_stream(got, 0);
  }
}

}  // namespace infeed::test
