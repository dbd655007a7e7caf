#include "run_program.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_folder.h"

namespace infeed::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uid_t kNobody = 65534;

[[noreturn]] void become_infeed(const std::vector<std::string>& arguments,
                                const ProgramOptions& options, const std::string& out,
                                const std::string& err) {
  const int out_descriptor = open(out.c_str(), O_WRONLY | O_CREAT, 0666);
  const int err_descriptor = open(err.c_str(), O_WRONLY | O_CREAT, 0666);
  if (out_descriptor < 0 || err_descriptor < 0 || dup2(out_descriptor, 1) < 0 ||
      dup2(err_descriptor, 2) < 0) {
    _exit(126);
  }
  if (options.as_nobody && geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
    _exit(126);
  }
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  std::string program = options.program;
  words.push_back(program.data());
  std::vector<std::string> copies = arguments;
  for (std::string& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  _exit(127);
}

}  // namespace

ProgramResult run_infeed(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  const TemporaryFolder folder;
  const std::string out = options.stdout_file.empty() ? folder.file("out") : options.stdout_file;
  const std::string err = folder.file("err");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become_infeed(arguments, options, out, err);

  ProgramResult result;
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (ended < 0) throw std::runtime_error("pidfd_open failed");
  const Clock::time_point begin = Clock::now();
  Clock::time_point sent{};
  pollfd waiting{ended, POLLIN, 0};
  while (poll(&waiting, 1, 2) == 0) {
    if (sent == Clock::time_point{} && options.send_signal_when && options.send_signal_when()) {
      sent = Clock::now();
      kill(child, options.signal);
    }
    if (Clock::now() - begin > options.time_limit) kill(child, SIGKILL);
  }
  close(ended);
  int status = 0;
  waitpid(child, &status, 0);
  if (sent != Clock::time_point{}) {
    result.seconds_after_signal = std::chrono::duration<double>(Clock::now() - sent).count();
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (options.stdout_file.empty()) result.out = read_whole(out);
  result.err = read_whole(err);
  return result;
}

}  // namespace infeed::test
