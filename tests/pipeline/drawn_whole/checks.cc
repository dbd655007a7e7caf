#include "pipeline/drawn_whole/checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "pipeline/drawn_whole/faults.h"
#include "pipeline/drawn_whole/other_process.h"

namespace infeed::test {
namespace {

Stream behind(const Stream& stream, std::size_t place) {
  return {stream.begin() + static_cast<std::ptrdiff_t>(std::min(place, stream.size())),
          stream.end()};
}

Stream before(const Stream& stream, std::size_t place) {
  return {stream.begin(),
          stream.begin() + static_cast<std::ptrdiff_t>(std::min(place, stream.size()))};
}

std::string shown(const Stream& stream, std::size_t place) {
  return place < stream.size() ? "'" + stream[place] + "'" : "the end";
}

/// Returns the part of a stream without order that is certain: skip_errors names the element that
/// failed last, and a batch that lacks a column the records of the inner dataset that failed first.
Stream without_order(Stream stream) {
  for (std::string& text : stream) {
    text = text.substr(0, text.find("; the last one: "));
    text = text.substr(0, text.find(" is in none of the first "));
  }
  std::sort(stream.begin(), stream.end());
  return stream;
}

/// Returns the number of elements that take a place.
std::size_t places_of(const Stream& stream) {
  return stream.size() - (!stream.empty() && is_terminal(stream.back()) ? 1 : 0);
}

}  // namespace

std::vector<Finding> Checks::run() {
  executors_.emplace();
  if (!set_expected()) return std::move(findings_);
  check_cardinality();
  check_passes();
  if (words_.chance(0.4)) check_consumers();
  if (!drawn_.is_unordered) {
    check_resumes();
    if (words_.chance(0.5)) check_resume_of_second_iteration();
    if (words_.chance(0.2) && !options_.is_quick) check_other_process();
    if (options_.checks_faults && words_.chance(0.3)) check_hosts();
  }
  check_memory_limit();
  if (options_.checks_faults && words_.chance(0.5)) check_changing_limit();
  for (int i = 0; i < 2; ++i) check_interruption();
  if (options_.checks_faults && Faults::are_possible()) check_faults();
  if (options_.checks_memory) check_allocator();
  if (options_.checks_refusals && !drawn_.is_unordered) check_refusals();
  watch_.end();
  return std::move(findings_);
}

bool Checks::set_expected() {
  begin("the description", {});
  try {
    shared_ = drawn_.describe(false, true);
    // Where each description draws other seeds, only this dataset can give the expected stream.
    const AnyDataset serial = drawn_.has_seeds ? drawn_.describe(true, true) : *shared_;
    Settings settings = serial_settings(*executors_, drawn_.epoch);
    settings.options.order_hash = true;
    begin("the serial form", settings);
    const std::unique_ptr<Run> run = drawn_.start(serial, settings);
    const HangWatch::Shown shown(watch_, *run);
    expected_ = take(*run, kElementsMax);
    expected_hash_ = run->order_hash();
    is_cut_ = expected_.size() == kElementsMax;
    has_errors_ = run->checkpoint().errors != 0 ||
                  std::any_of(expected_.begin(), expected_.end(),
                              [](const std::string& text) { return text.starts_with("!"); });
    expect_end(*run, expected_, 0);
    return true;
  } catch (const Error& error) {
    refused_ = error.what();
    return false;
  }
}

AnyDataset Checks::any_dataset() {
  if (!drawn_.has_seeds || words_.chance(0.4)) return *shared_;
  return drawn_.describe(words_.chance(0.1), words_.chance(0.5));
}

AnyDataset Checks::any_description(std::size_t place) {
  if (words_.chance(0.3) || !drawn_.knows_seeds(before(expected_, place))) return *shared_;
  return drawn_.describe(words_.chance(0.3), words_.chance(0.5));
}

void Checks::check_cardinality() {
  begin("cardinality()", {});
  const Cardinality known = cardinality_of(*shared_);
  if (known.is_infinite() && !is_cut_ && !has_errors_) {
    find(fmt::format("it is said to be endless and has {} elements", expected_.size()));
  }
  // Failing elements may take others with them, or be left out.
  if (!known.is_finite() || has_errors_) return;
  if (is_cut_ ? known.count() < expected_.size() : known.count() != expected_.size()) {
    find(fmt::format("it is said to have {} elements and has {}{}", known.count(), expected_.size(),
                     is_cut_ ? " and more" : ""));
  }
}

void Checks::check_passes() {
  const AnyDataset dataset = any_dataset();
  for (int pass = 0; pass < 2; ++pass) {
    Settings drawn = settings();
    drawn.options.order_hash = words_.chance(0.3);
    begin(fmt::format("pass {}", pass), drawn);
    const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
    const HangWatch::Shown shown(watch_, *run);
    const Stream got = take(*run, kElementsMax, drawn.manner);
    if (drawn.options.order_hash && !drawn_.is_unordered && run->order_hash() != expected_hash_) {
      find("another order_hash() than that of the serial form");
    }
    expect_end(*run, got, 0);
  }
}

void Checks::check_consumers() {
  const AnyDataset dataset = any_dataset();
  const std::uint64_t count = words_.between(2, 3);
  std::vector<Settings> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(settings());
  begin(fmt::format("{} consumers at once", count), all.front());
  std::vector<Stream> streams(count);
  {
    std::vector<std::jthread> consumers;
    for (std::uint64_t i = 0; i < count; ++i) {
      consumers.emplace_back([&, i] {
        const std::unique_ptr<Run> run = drawn_.start(dataset, all[i]);
        const HangWatch::Shown shown(watch_, *run);
        streams[i] = take(*run, kElementsMax, all[i].manner);
      });
    }
  }
  for (const Stream& stream : streams) expect_stream(stream, 0);
}

void Checks::check_resumes() {
  for (int round = 0; round < 2; ++round) {
    const Settings drawn = settings();
    const std::size_t place = any_place();
    begin(fmt::format("the first {} elements", place), drawn);
    Settings hashed = drawn;
    hashed.options.order_hash = words_.chance(0.3);
    const AnyDataset dataset = any_dataset();
    const std::unique_ptr<Run> run = drawn_.start(dataset, hashed);
    const HangWatch::Shown shown(watch_, *run);
    const Stream got = take(*run, place, drawn.manner);
    if (got != Stream(expected_.begin(), expected_.begin() + std::ssize(got)) ||
        got.size() != place) {
      expect_stream(got, 0);
      return;
    }
    expect_rest(run->checkpoint(), hashed.options.order_hash ? expected_hash_ : 0);
  }
}

void Checks::check_resume_of_second_iteration() {
  const AnyDataset dataset = any_dataset();
  Settings drawn = settings();
  begin("the iteration before another", drawn);
  take(*drawn_.start(dataset, drawn), kElementsMax);
  drawn = settings();
  const std::size_t place = any_place();
  begin(fmt::format("the first {} elements of a second iteration", place), drawn);
  const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
  const HangWatch::Shown shown(watch_, *run);
  take(*run, place, drawn.manner);
  expect_rest(run->checkpoint(), 0);
}

void Checks::expect_rest(Checkpoint checkpoint, std::uint64_t order_hash) {
  const std::string check = check_;
  for (std::uint64_t crashes = words_.below(3);; --crashes) {
    const Checkpoint read = Checkpoint::from_text(checkpoint.to_text());
    Settings drawn = settings();
    drawn.options.epoch.reset();
    drawn.options.resume = read;
    drawn.options.order_hash = order_hash != 0;
    const auto place = static_cast<std::size_t>(read.position);
    begin(fmt::format("{}, resumed at {}", check, place), drawn);
    const AnyDataset dataset = any_description(place);
    try {
      const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
      const HangWatch::Shown shown(watch_, *run);
      if (crashes == 0) {
        const Stream got = take(*run, kElementsMax - std::min(kElementsMax, place), drawn.manner);
        expect_end(*run, got, place);
        if (order_hash != 0 && run->order_hash() != order_hash) {
          find("another order_hash() at the end than that of the serial form");
        }
        return;
      }
      const std::size_t more =
          words_.below(expected_.size() - std::min(place, expected_.size()) + 1);
      take(*run, more, drawn.manner);
      checkpoint = run->checkpoint();
    } catch (const Error& error) {
      find(fmt::format("it is refused: {}\n{}", error.what(), read.to_text()));
      return;
    }
  }
}

void Checks::check_other_process() {
  const Settings drawn = settings();
  std::size_t place = drawn_.has_seeds && words_.chance(0.5) ? 0 : any_place();
  begin(fmt::format("in another process, from element {}", place), drawn);
  std::string text;
  if (place != 0 || !drawn_.has_seeds) {
    const std::unique_ptr<Run> run = drawn_.start(*shared_, drawn);
    take(*run, place, drawn.manner);
    text = run->checkpoint().to_text();
    place = static_cast<std::size_t>(run->position());
    if (!drawn_.knows_seeds(before(expected_, place))) return;
  }
  watch_.check(check_, true);
  expect_stream(stream_of_other_process(options_, drawn_, text), place);
}

void Checks::begin(const std::string& check, const Settings& settings) {
  check_ = check + (settings.text.empty() ? "" : " (" + settings.text + ")");
  watch_.check(check_);
}

Settings Checks::settings() {
  Settings drawn = draw_settings(words_, *executors_, drawn_.epoch);
  if (words_.chance(0.25)) draw_recording(words_, drawn_.surroundings.folder, drawn);
  return drawn;
}

void Checks::expect_stream(const Stream& got, std::size_t from) {
  if (drawn_.is_unordered && is_cut_) return;
  if (drawn_.is_unordered) return expect_same(without_order(got), without_order(expected_), from);
  expect_same(got, behind(expected_, from), from);
}

void Checks::expect_same(const Stream& got, const Stream& expected, std::size_t from) {
  if (got == expected) return;
  const auto [a, b] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  const auto at = static_cast<std::size_t>(a - got.begin());
  find(fmt::format("{}element {} is {}, expected {}; {} elements, expected {}",
                   drawn_.is_unordered ? "sorted, " : "", from + at, shown(got, at),
                   shown(expected, at), got.size(), expected.size()));
}

void Checks::expect_end(const Run& run, const Stream& got, std::size_t from) {
  expect_stream(got, from);
  if (is_cut_) return;
  expect_account_empty(run);
  const bool is_of_integers = shared_ && kind_of(*shared_) == Kind::integer;
  expect_figures(
      {.run = run, .got = got, .is_from_begin = from == 0, .is_of_integers = is_of_integers});
}

void Checks::expect_figures(const SeenRun& seen) {
  if (!options_.checks_faults) return;
  for (std::string& problem : figure_problems(seen)) find(std::move(problem));
}

void Checks::expect_account_empty(const Run& run) {
  const std::uint64_t left = run.memory().in_use_bytes();
  if (left != 0) find(fmt::format("{} bytes are in the account after the end", left));
}

void Checks::run_until_stopped(Run& run, Manner manner, ErrorCode allowed) {
  const HangWatch::Shown shown(watch_, run);
  judge_stopped(run, take(run, kElementsMax, manner), allowed);
}

void Checks::judge_stopped(Run& run, Stream got, ErrorCode allowed) {
  const bool is_expected = places_of(got) == places_of(expected_) && got.size() == expected_.size();
  const std::optional<ErrorCode> ended = run.ended_by();
  const bool is_own_end = ended == allowed && is_expected && !got.empty() && !expected_.empty() &&
                          got.back() == expected_.back();
  if (!ended || *ended != allowed || is_own_end) {
    return expect_end(run, got, 0);
  }
  if (is_cut_ && got.size() - 1 == kElementsMax) return;
  expect_account_empty(run);
  expect_figures({.run = run, .got = got});
  got.pop_back();
  expect_rest_behind(run, got);
}

void Checks::expect_rest_behind(Run& run, const Stream& got) {
  if (drawn_.is_unordered) {
    const Stream all = without_order(expected_);
    for (const std::string& text : without_order(got)) {
      if (!is_cut_ && !std::binary_search(all.begin(), all.end(), text)) {
        find("an element that is none of the stream: " + text);
      }
    }
    return;
  }
  if (got.size() > expected_.size() ||
      got != Stream(expected_.begin(), expected_.begin() + std::ssize(got))) {
    find(fmt::format("what came before it was ended ({} elements) is not the stream's begin",
                     got.size()));
    return expect_stream(got, 0);
  }
  const Checkpoint checkpoint = run.checkpoint();
  if (checkpoint.position != got.size()) {
    find(fmt::format("{} elements came, its checkpoint says {}", got.size(), checkpoint.position));
  }
  expect_rest(checkpoint, 0);
}

void Checks::find(std::string differs) { findings_.push_back({check_, std::move(differs)}); }

}  // namespace infeed::test
