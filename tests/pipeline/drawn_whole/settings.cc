#include "pipeline/drawn_whole/settings.h"

#include <fmt/format.h>

#include "pipeline/drawn_whole/figures.h"
#include "pipeline/suite/random_knobs.h"
#include "sanitizers.h"

namespace infeed::test {
namespace {

/// Changes the knobs a few times and then never again, so that nothing wakes a thread that such a
/// change left asleep.
class BriefKnobs final : public TuningPolicy {
 public:
  BriefKnobs(std::uint64_t seed, std::int64_t changes) : random_(seed), changes_(changes) {}

  TuningDecision observe(const TuningObservation& seen) override {
    if (changes_ == 0) return {};
    --changes_;
    return random_.observe(seen);
  }

 private:
  RandomKnobs random_;
  std::int64_t changes_;
};

}  // namespace

SharedExecutors::SharedExecutors() {
  all_.push_back({"inline", Executor::inline_()});
  all_.push_back({"own", nullptr});
  for (const int threads : {1, 2, 4}) {
    all_.push_back({fmt::format("threads({})", threads), Executor::threads(threads)});
  }
  // ThreadSanitizer doesn't understand how TBB synchronises.
  if (!test::kThreadSanitizer) all_.push_back({"tbb(2)", Executor::tbb(2)});
}

Settings draw_settings(Words& words, const SharedExecutors& executors, std::uint64_t epoch) {
  Settings settings;
  const SharedExecutors::Named& executor = executors.any(words);
  settings.options.executor = executor.executor;
  settings.options.epoch = epoch;
  settings.text = "executor " + executor.name;
  if (words.chance(0.7)) {
    settings.options.bookmark_every = static_cast<std::uint64_t>(words.between(0, 20));
    settings.text += fmt::format(", bookmark_every {}", settings.options.bookmark_every);
  }
  if (words.chance(0.4)) {
    settings.options.threads_max = static_cast<int>(words.between(1, 8));
    settings.text += fmt::format(", threads_max {}", settings.options.threads_max);
  }
  if (words.chance(0.4)) {
    settings.options.tuner = random_knobs(words());
    settings.text += ", knobs at random";
    if (words.chance(0.5)) {
      const std::int64_t changes = words.between(1, 20);
      settings.options.tuner.policy = std::make_shared<BriefKnobs>(words(), changes);
      settings.text += fmt::format(" {} times", changes);
    }
  } else if (words.chance(0.3)) {
    settings.options.tuner.mode = TunerMode::off;
    settings.text += ", no tuner";
  } else if (words.chance(0.5)) {
    settings.options.tuner.look_every = std::chrono::milliseconds(1);
    settings.text += ", a quick tuner";
  }
  settings.manner = words.chance(0.6) ? Manner::next : static_cast<Manner>(words.below(kManners));
  settings.text += settings.manner == Manner::poll   ? ", polled"
                   : settings.manner == Manner::peek ? ", peeked at"
                   : settings.manner == Manner::look ? ", looking elsewhere"
                                                     : "";
  return settings;
}

void draw_recording(Words& words, const std::string& folder, Settings& settings) {
  RecordingOptions& recording = settings.options.recording;
  recording.file = folder + "/run.profile";
  recording.slow_after = std::chrono::microseconds(1 + words.rather_small(2000));
  recording.live = words.chance(0.3);
  settings.text += fmt::format(", recorded{}", recording.live ? " and shown live" : "");
  if (words.chance(0.2)) {
    recording.file = fmt::format("{}/{}", folder, kShortRecording);
    recording.bytes_max = std::uint64_t{1024} << words.below(8);
    settings.text += fmt::format(" in {} bytes", recording.bytes_max);
  }
}

Settings serial_settings(const SharedExecutors& executors, std::uint64_t epoch) {
  Settings settings;
  settings.options.executor = executors.inline_one();
  settings.options.epoch = epoch;
  settings.options.tuner.mode = TunerMode::off;
  settings.text = "serial";
  return settings;
}

}  // namespace infeed::test
