// ranks CASE [LIMIT_MS]: one rank of a job that mpirun starts; mpirun_test.sh judges what it says.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <infeed/communicator.h>
#include <infeed/error.h>

namespace infeed {
namespace {

using Clock = std::chrono::steady_clock;

void expect(bool is_true, const std::string& what) {
  if (!is_true) throw std::logic_error("not so: " + what);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Exchanges buffers of `words` numbers and a few more for each pair of ranks.
void exchange_numbers(Communicator& ranks, std::size_t words) {
  const auto [rank, size] = ranks.world();
  std::vector<std::vector<std::uint64_t>> out(size), in(size);
  std::vector<std::span<const std::byte>> outgoing;
  std::vector<std::span<std::byte>> incoming;
  for (int other = 0; other < size; ++other) {
    // No two pairs have the same size, and none of a rank of 2 goes to rank 0.
    const auto length = [&](int from, int to) {
      return from == 2 && to == 0 ? std::size_t{0} : words + 10 * from + to;
    };
    out[other].resize(length(rank, other));
    in[other].resize(length(other, rank));
    std::iota(out[other].begin(), out[other].end(), 1'000'000'000ULL * rank + 1'000'000 * other);
    outgoing.push_back(std::as_bytes(std::span(out[other])));
    incoming.push_back(std::as_writable_bytes(std::span(in[other])));
  }
  ranks.exchange(outgoing, incoming, fmt::format("{} words", words));
  for (int other = 0; other < size; ++other) {
    for (std::size_t i = 0; i < in[other].size(); ++i) {
      expect(in[other][i] == 1'000'000'000ULL * other + 1'000'000 * rank + i, "the numbers came");
    }
  }
}

void collectives(Communicator& ranks) {
  const auto [rank, size] = ranks.world();
  for (const std::size_t length : {0, 7, 56, 57, 100'000}) {
    const auto text_of = [&](int of) {
      return std::string(length * (of + 1), static_cast<char>('a' + of));
    };
    const auto all = all_gather(ranks, text_of(rank), "texts");
    for (int other = 0; other < size; ++other)
      expect(all[other] == text_of(other), "the texts came");
  }
  for (const std::size_t words : {1, 1'000, 100'000, 2'000'000}) exchange_numbers(ranks, words);
  require_equal(ranks, "seed", "42");
  // A ring of messages, some large, beside the exchanges.
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::byte> bytes(i % 5 == 0 ? 300'000 : i, std::byte(i));
    ranks.send((rank + 1) % size, i, bytes);
    const auto message = ranks.receive_any(std::chrono::seconds(60));
    expect(message && message->tag == i && message->source == (rank + size - 1) % size &&
               message->bytes == bytes,
           "the message came");
  }
  expect(!ranks.receive_any(std::chrono::milliseconds(1)), "no more messages");
  // The odd ranks among themselves.
  std::vector<int> odd;
  for (int other = 1; other < size; other += 2) odd.push_back(other);
  if (rank % 2 == 1) {
    const auto group = group_of(ranks, odd);
    expect(all_gather(*group, std::to_string(rank), "odd").size() == odd.size(), "the odd ranks");
  }
}

/// Rank 1 is stopped with two large messages on their way to rank 0. That of rank 2 comes all the same.
void stopped_half_way(Communicator& ranks) {
  const auto [rank, size] = ranks.world();
  const auto large = [](int tag) { return std::vector<std::byte>(1'000'000, std::byte(tag)); };
  barrier(ranks, "the begin");
  if (rank == 1) {
    const pid_t own = ::getpid();
    ranks.send(0, 1, std::as_bytes(std::span(&own, 1)));
    for (const int tag : {2, 3}) ranks.send(0, tag, large(tag));
    ranks.receive_any(std::chrono::milliseconds(50));
    std::raise(SIGSTOP);
  } else if (rank == 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ranks.send(0, 4, {});
  } else {
    const auto first = ranks.receive_any(std::chrono::seconds(60));
    pid_t stopped = 0;
    expect(first && first->bytes.size() == sizeof(stopped), "the process came");
    std::memcpy(&stopped, first->bytes.data(), sizeof(stopped));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto other = ranks.receive_any(std::chrono::seconds(60));
    expect(other && other->tag == 4, "the message of the one that runs came");
    expect(!ranks.receive_any(std::chrono::milliseconds(100)), "no message of the stopped one");
    ::kill(stopped, SIGCONT);
    for (const int tag : {2, 3}) {
      const auto message = ranks.receive_any(std::chrono::seconds(60));
      expect(message && message->tag == tag && message->bytes == large(tag), "it came at last");
    }
  }
  barrier(ranks, "the end");
}

/// Makes steps until the last rank fails in step 20, as `fail` has it.
void steps_until_failure(Communicator& ranks, void (*fail)()) {
  const auto [rank, size] = ranks.world();
  Clock::time_point last_step = Clock::now();
  try {
    for (int step = 0; step < 100; ++step) {
      if (step == 20 && rank == size - 1) fail();
      barrier(ranks, fmt::format("step {}", step));
      last_step = Clock::now();
    }
  } catch (const Error& error) {
    std::cerr << fmt::format("rank {} after {:.2f} s: {}\n", rank, seconds_since(last_step),
                             error.what());
    ranks.abort(error.message());
  }
  throw std::logic_error("no rank failed");
}

void compute_for(std::chrono::milliseconds time) {
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < time) {
  }
}

void run(const std::string& name, const MpiOptions& options) {
  const auto ranks = mpi_communicator(options);
  const auto [rank, size] = ranks->world();
  if (name == "collectives") {
    collectives(*ranks);
  } else if (name == "stopped") {
    steps_until_failure(*ranks, [] { std::raise(SIGSTOP); });
  } else if (name == "killed") {
    steps_until_failure(*ranks, [] { std::raise(SIGKILL); });
  } else if (name == "throws") {
    steps_until_failure(*ranks, [] { throw std::runtime_error("the disk is full"); });
  } else if (name == "slow") {
    if (rank == size - 1) compute_for(std::chrono::milliseconds(1'500));
    barrier(*ranks, "step 1");
  } else if (name == "stopped_half_way") {
    stopped_half_way(*ranks);
  } else if (name == "late") {
    if (rank == 0) {
      try {
        barrier(*ranks, "step 1");
      } catch (const Error& error) {
        ranks->abort(error.message());
      }
    }
    compute_for(std::chrono::seconds(60));
  } else if (name == "differs") {
    require_equal(*ranks, "seed", rank == size - 1 ? "43" : "42");
  } else {
    throw std::invalid_argument("no such case: " + name);
  }
  std::cout << fmt::format("rank {} of {} is done\n", rank, size);
}

}  // namespace
}  // namespace infeed

int main(int count, char** arguments) {
  infeed::MpiOptions options;
  if (count > 2) options.limit = std::chrono::milliseconds(std::atoi(arguments[2]));
  if (count > 3) options.call_limit = std::chrono::milliseconds(std::atoi(arguments[3]));
  try {
    infeed::run(count > 1 ? arguments[1] : "collectives", options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
