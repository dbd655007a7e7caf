#include "own_process.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fmt/format.h>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace infeed::benchmarks {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::system_error failed(const char* what) {
  return std::system_error(errno, std::generic_category(), what);
}

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count <= 0) throw failed("write to a pipe");
    at += static_cast<std::size_t>(count);
  }
}

/// Writes 'R' and the result of `run`, or 'E' and its error.
void answer(int file, const std::function<std::string()>& run) {
  std::string text;
  try {
    text = "R" + run();
  } catch (const std::exception& error) {
    text = std::string("E") + error.what();
  }
  write_all(file, text);
}

/// Reads until the other end is closed. Returns false if that takes too long.
bool read_all(int file, std::string& text, steady_clock::time_point deadline) {
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waited{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) throw failed("poll");
    if (ready <= 0) continue;
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0) throw failed("read from a pipe");
    if (count == 0) return true;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string in_own_process(const std::function<std::string()>& run, std::chrono::seconds time_max) {
  int ends[2];
  if (::pipe(ends) != 0) throw failed("pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw failed("fork");
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], run);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  const bool has_ended = read_all(ends[0], text, steady_clock::now() + time_max);
  if (!has_ended) ::kill(child, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!has_ended) {
    throw std::runtime_error(fmt::format("it had not ended after {} s", time_max.count()));
  }
  if (text.starts_with('R')) return text.substr(1);
  throw std::runtime_error(text.empty() ? fmt::format("its process ended with {}", status)
                                        : text.substr(1));
}

}  // namespace infeed::benchmarks
