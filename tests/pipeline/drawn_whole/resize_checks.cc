#include <atomic>
#include <fmt/format.h>
#include <thread>

#include <infeed/pipeline/reshard_checkpoint.h>
#include <infeed/pipeline/shard.h>

#include "pipeline/drawn_whole/checks.h"

/// Resources that change: hosts from run to run, the memory limit while a run goes on.
namespace infeed::test {
namespace {

AnyDataset share_of_host(const AnyDataset& dataset, std::uint64_t hosts, std::uint64_t host) {
  return std::visit(
      [&](const auto& typed) -> AnyDataset {
        return typed | shard({.count = static_cast<std::int64_t>(hosts),
                              .index = static_cast<std::int64_t>(host)});
      },
      dataset);
}

Checkpoint resharded(const Checkpoint& checkpoint, const AnyDataset& dataset) {
  return std::visit([&](const auto& typed) { return reshard_checkpoint(checkpoint, typed); },
                    dataset);
}

/// Returns the elements of the stream from `begin` on that are this host's.
Stream part_of(const Stream& stream, std::size_t begin, std::uint64_t hosts, std::uint64_t host) {
  Stream part;
  for (std::size_t i = begin + host; i < stream.size(); i += hosts) part.push_back(stream[i]);
  return part;
}

}  // namespace

/// The stream is shared by some hosts, and goes on with another number of them.
void Checks::check_hosts() {
  const bool ends_early = !expected_.empty() && is_terminal(expected_.back());
  if (is_cut_ || ends_early) return;
  std::size_t at = 0;
  std::optional<Checkpoint> saved;
  for (int job = 0; job < 3; ++job) {
    const auto hosts = static_cast<std::uint64_t>(words_.between(1, 5));
    const auto host = words_.below(hosts);
    const std::size_t steps = words_.below((expected_.size() - at) / hosts + 1);
    Settings drawn = settings();
    begin(fmt::format("host {} of {} from element {} on, {} steps", host, hosts, at, steps), drawn);
    const AnyDataset dataset = share_of_host(*shared_, hosts, host);
    try {
      if (saved) {
        drawn.options.epoch.reset();
        drawn.options.resume = resharded(Checkpoint::from_text(saved->to_text()), dataset);
      }
      const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
      const HangWatch::Shown shown(watch_, *run);
      const Stream expected = part_of(expected_, at, hosts, host);
      Stream got = take(*run, steps, drawn.manner);
      saved = run->checkpoint();
      for (std::string& text : take(*run, kElementsMax, drawn.manner)) {
        got.push_back(std::move(text));
      }
      expect_same(got, expected, at);
    } catch (const Error& error) {
      return find(fmt::format("it is refused: {}", error.what()));
    }
    at += steps * hosts;
  }
}

/// A run that has enough with a limit has enough while the limit changes, but never falls below it.
void Checks::check_changing_limit() {
  // Where it depends on time who holds what, a limit that was enough once may be too little.
  if (share_a_limit(drawn_.plan)) return;
  Settings drawn = settings();
  const std::uint64_t limit = (std::uint64_t{4096} << words_.below(14)) + words_.below(4096);
  drawn.options.memory_bytes_max = limit;
  const auto describe = [this] {
    return drawn_.has_seeds ? drawn_.describe(false, true) : *shared_;
  };
  begin(fmt::format("a limit of {} bytes that may be enough", limit), drawn);
  try {
    const AnyDataset dataset = describe();
    const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
    const HangWatch::Shown shown(watch_, *run);
    take(*run, kElementsMax, drawn.manner);
    if (run->ended_by()) return;
  } catch (const Error&) {
    return;
  }
  drawn.options.memory_bytes_max = limit << words_.below(4);
  begin(
      fmt::format("a limit that changes between {} bytes, which were enough, and eight times that",
                  limit),
      drawn);
  const AnyDataset dataset = describe();
  const std::unique_ptr<Run> run = drawn_.start(dataset, drawn);
  const HangWatch::Shown shown(watch_, *run);
  std::atomic<bool> is_over = false;
  std::string refused;
  std::jthread changing([&, words = Words(words_(), 0)]() mutable {
    while (!is_over) {
      try {
        run->set_memory_limit(limit << words.below(4));
      } catch (const Error& error) {
        refused = error.what();
        return;
      }
      std::this_thread::yield();
    }
  });
  const Stream got = take(*run, kElementsMax, drawn.manner);
  is_over = true;
  changing.join();
  if (!refused.empty() && !may_drop_a_refused_batch(drawn_.plan)) {
    find("set_memory_limit() threw " + refused);
  }
  if (is_cut_) {
    expect_stream(got, 0);
  } else {
    expect_end(*run, got, 0);
  }
}

}  // namespace infeed::test
