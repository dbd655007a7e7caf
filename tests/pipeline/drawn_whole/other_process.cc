#include "pipeline/drawn_whole/other_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_folder.h"

extern char** environ;

namespace infeed::test {
namespace {

/// As one line.
std::string escaped(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = '\1';
  }
  return text;
}
std::string unescaped(std::string line) {
  for (char& c : line) {
    if (c == '\1') c = '\n';
  }
  return line;
}

}  // namespace

int run_self(const std::vector<std::string>& arguments, Output output) {
  std::vector<std::string> all = {"infeed_drawn_stages"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output == Output::none) {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("another process can't be started");
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Stream stream_of_other_process(const CaseOptions& options, const DrawnCase& drawn,
                               const std::string& checkpoint_text) {
  const std::string checkpoint_file = drawn.surroundings.folder + "/checkpoint";
  const std::string out_file = drawn.surroundings.folder + "/stream";
  write_whole(checkpoint_file, checkpoint_text);
  std::vector<std::string> arguments = {"--seed",   std::to_string(options.seed),
                                        "--only",   std::to_string(drawn.number),
                                        "--folder", options.folder,
                                        "--stream", out_file};
  if (options.checks_memory) arguments.emplace_back("--check-memory");
  if (!options.plan.empty()) {
    arguments.emplace_back("--plan");
    arguments.push_back(options.plan);
  }
  if (!checkpoint_text.empty()) {
    arguments.emplace_back("--checkpoint");
    arguments.push_back(checkpoint_file);
  }
  if (const int status = run_self(arguments); status != 0) {
    return {fmt::format("!! the other process ended with {}", status)};
  }
  Stream stream;
  std::ifstream file(out_file);
  for (std::string line; std::getline(file, line);) stream.push_back(unescaped(std::move(line)));
  return stream;
}

void write_stream(DrawnCase& drawn, const std::string& checkpoint_file,
                  const std::string& out_file) {
  const SharedExecutors executors;
  drawn.surroundings.cache_folder = drawn.surroundings.folder + "/caches-of-another";
  Settings settings = draw_settings(drawn.words, executors, drawn.epoch);
  std::size_t place = 0;
  if (!checkpoint_file.empty()) {
    settings.options.epoch.reset();
    settings.options.resume = Checkpoint::from_text(read_whole(checkpoint_file));
    place = static_cast<std::size_t>(settings.options.resume->position);
  }
  const AnyDataset dataset = build(drawn.plan, drawn.surroundings);
  const std::unique_ptr<Run> run = drawn.start(dataset, settings);
  std::ofstream out(out_file);
  for (const std::string& text : take(*run, kElementsMax - place, settings.manner)) {
    out << escaped(text) << '\n';
  }
}

}  // namespace infeed::test
