#include "pipeline/drawn/drawn_pipeline_checks.h"

#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include <infeed/pipeline/cache.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/skip.h>
#include <infeed/pipeline/take.h>

#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_model.h"

namespace infeed::test {
namespace {

using Integers = Dataset<std::int64_t>;

/// Checks of one pipeline; each describes it anew.
class ListChecks {
 public:
  ListChecks(const DrawnPipeline& drawn, const Stream& list, const Executors& executors,
             SeededRandom& random)
      : drawn_(drawn), list_(list), executors_(executors), random_(random) {}

  std::vector<Difference> run() {
    check_parts();
    check_passes();
    check_resume();
    check_resume_behind_caches();
    return std::move(found_);
  }

 private:
  void check_parts() {
    const std::size_t place = any_place();
    const auto count = static_cast<std::int64_t>(place);
    expect(fmt::format(" | skip({})", count), describe() | skip(count), behind(place));
    expect(fmt::format(" | take({})", count), describe() | take(count), before(place));
    const std::uint64_t shards = 1 + random_.below(random_.chance(0.1) ? 300 : 5);
    const std::uint64_t index = random_.below(shards);
    Stream share;
    for (std::size_t i = index; i < list_.size(); i += shards) share.push_back(list_[i]);
    expect(fmt::format(" | shard({}, {})", shards, index),
           describe() | shard({.count = shards, .index = index}), share);
  }

  void check_passes() {
    const Integers cached = describe() | cache();
    expect(" | cache, filled", cached, list_);
    expect(" | cache, full", cached, list_);
    Stream twice = list_;
    twice.insert(twice.end(), list_.begin(), list_.end());
    expect(" | cache | repeat(2)", describe() | cache() | repeat(2), twice);
    if (!reshuffles(drawn_)) expect(" | repeat(2)", describe() | repeat(2), twice);
  }

  void check_resume() {
    for (int round = 0; round < 2; ++round) {
      const std::size_t place = any_place();
      Iterator<std::int64_t> begun = describe().iterate(options());
      const Stream begin = take_stream(begun, place);
      compare(fmt::format(", the first {} of it", place), begin, before(place));
      expect_resumed("", describe(), begun.checkpoint());
    }
  }

  void check_resume_behind_caches() {
    const Integers cached = describe() | cache();
    stream_of(cached, options());
    Iterator<std::int64_t> second = cached.iterate(options());
    take_stream(second, any_place());
    expect_resumed(" | cache, empty", describe() | cache(), second.checkpoint());
    expect_resumed(" | cache, full", cached, second.checkpoint());
  }

  void expect_resumed(const std::string& what, const Integers& dataset,
                      const Checkpoint& checkpoint) {
    IterateOptions resuming = options();
    resuming.resume = Checkpoint::from_text(checkpoint.to_text());
    Iterator<std::int64_t> resumed = dataset.iterate(std::move(resuming));
    const auto place = static_cast<std::size_t>(checkpoint.position);
    compare(fmt::format("{}, resumed at {}", what, place), take_a_few_more(resumed, behind(place)),
            behind(place));
  }

  void expect(const std::string& what, const Integers& dataset, const Stream& expected) {
    Iterator<std::int64_t> iterator = dataset.iterate(options());
    compare(what, take_a_few_more(iterator, expected), expected);
  }

  void compare(const std::string& what, Stream stream, const Stream& expected) {
    if (stream != expected) found_.push_back({what, std::move(stream), expected});
  }

  /// Limited, so that a stream that doesn't end is a difference, not a hang.
  static Stream take_a_few_more(Iterator<std::int64_t>& iterator, const Stream& expected) {
    return take_stream(iterator, expected.size() + 3);
  }

  Integers describe() { return build_pipeline(drawn_, random_.chance(0.5) ? random_() | 1 : 0); }
  IterateOptions options() {
    IterateOptions options;
    options.executor = executors_.any(random_).executor;
    options.epoch = 0;
    constexpr std::array<std::uint64_t, 5> kBookmarkEvery{0, 1, 3, 20, 1024};
    options.bookmark_every = kBookmarkEvery[random_.below(kBookmarkEvery.size())];
    return options;
  }
  std::size_t any_place() { return random_.below(list_.size() + 1); }
  Stream before(std::size_t place) const {
    return {list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(place)};
  }
  Stream behind(std::size_t place) const {
    return {list_.begin() + static_cast<std::ptrdiff_t>(place), list_.end()};
  }

  const DrawnPipeline& drawn_;
  const Stream& list_;
  const Executors& executors_;
  SeededRandom& random_;
  std::vector<Difference> found_;
};

}  // namespace

Case draw_case(SeededRandom& random, std::size_t elements_max) {
  while (true) {
    Case drawn{draw_pipeline(random, 7), {}};
    for (const std::uint64_t epoch : {0, 1, 2}) {
      const std::optional<Stream> stream = model_unless_all_fails(drawn.drawn, epoch);
      if (!stream || stream->size() > elements_max) break;
      drawn.streams.push_back(*stream);
    }
    if (drawn.streams.size() == 3) return drawn;
  }
}

std::vector<Difference> differences_from_list(const DrawnPipeline& drawn, const Stream& list,
                                              const Executors& executors, SeededRandom& random) {
  return ListChecks(drawn, list, executors, random).run();
}

}  // namespace infeed::test
