#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <regex>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>

#include "cli/exit_status.h"
#include "cli/option_checks.h"
#include "cli/stop_on_signal.h"

namespace infeed::tools {
namespace {

void complain(const std::string& who, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  // A message that nobody can get (a full disk, a closed stream) is no reason to end badly.
  const std::string line =
      fmt::format("{}: {}\n", detail::printable_text(who), detail::printable_text(text));
  std::fputs(line.c_str(), stderr);
}

/// Complains without memory, which complain() takes.
void complain_of_memory(const char* who) noexcept {
  std::fputs(who, stderr);
  std::fputs(": out of memory; close other programs or give this one a machine with more\n",
             stderr);
}

/// Ends the command where a function that may not throw has found no memory: so do destructors of
/// other libraries, which take some.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "infeed: out of memory where nothing could be cleaned up: unfinished files (.NAME.partial) "
        "may be left, which the next run takes over; close other programs or give this one a "
        "machine with more\n",
        stderr);
    std::_Exit(kExitFailure);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
  } catch (...) {
  }
  std::abort();
}

/// Returns the error's text in one line: what is given, and what is expected in its place.
std::string text_of(const CLI::ParseError& error) {
  static const std::array<std::pair<std::regex, const char*>, 4> wordings = {
      {{std::regex(R"((\S+): 1 required .* missing)"),
        "$1: a value is expected behind it, but none is given"},
       {std::regex(R"((\S+): Value (.*) not in range (.*))"),
        "$1: $2 is given, but $3 is expected"},
       {std::regex(R"((\S+): At Most (\d+) required but received (\d+))"),
        "$1: it is given $3 times, but at most $2 is expected"},
       {std::regex(R"(The following arguments? (?:was|were) not expected: (.*))"),
        "'$1' is given, but no such argument is expected"}}};
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  constexpr std::size_t kMatchedMax = 2000;  // std::regex takes stack for each character
  if (text.size() > kMatchedMax) return text;
  for (const auto& [clumsy, clear] : wordings) {
    if (std::regex_match(text, clumsy)) return std::regex_replace(text, clumsy, clear);
  }
  return text;
}

/// Prints what is wrong with the arguments, and where the options are explained.
int complain_about_usage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::string who = "infeed";
  // An unknown option explains any other error (a required option or the command is missing).
  auto unknown = unknown_option(app);
  const CLI::App* command = &app;
  if (!unknown && !chosen.empty()) {
    command = chosen.front();
    who += " " + command->get_name();
    unknown = unknown_option(*command);
  }
  const std::string wrong = unknown ? fmt::format("there is no option {}{}", *unknown,
                                                  suggestion(*unknown, option_names(*command)))
                                    : text_of(error);
  complain(who, fmt::format("{}; see {} --help", wrong, who));
  return kExitWrongUsage;
}

/// CLI11's message would only say that a command is required.
int complain_about_command(const std::vector<Command>& commands, std::string_view found,
                           std::string_view typed) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.options->get_name());
  complain("infeed", fmt::format("{}{}; the commands are {}; see infeed --help", found,
                                 suggestion(typed, names), fmt::join(names, ", ")));
  return kExitWrongUsage;
}

bool is_command(const std::vector<Command>& commands, std::string_view name) {
  return std::any_of(commands.begin(), commands.end(),
                     [&](const Command& command) { return command.options->get_name() == name; });
}

/// Raises the limit of open files as far as allowed. A dataset of a thousand shards is a thousand
/// open files, and the usual limit is 1024.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, the error of opening a file gives
                                             // advice
}

/// Opens /dev/null in the place of a standard stream that is closed. The next file to be opened would
/// have its number, and what is printed would go into that file. Writing to a closed output stays an
/// error: it is opened for reading.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Flushes the output. Reports on stderr if that fails.
int check_output(const std::string& who) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kExitOk;
  complain(who, "the output could not be written; is the disk full?");
  return kExitFailure;
}

int run(const Command& command, const std::string& who) {
  allow_many_files();
  std::optional<StopOnSignal> signals;
  try {
    if (const auto wrong = report_in_use(*command.options)) throw CLI::ValidationError(*wrong);
    signals.emplace();
    command.run(signals->token());
    const int written = check_output(who);
    return written == kExitOk && command.status ? command.status() : written;
  } catch (const Error& error) {
    std::fflush(stdout);
    if (signals && signals->token().stop_requested() && error.code() == ErrorCode::cancelled) {
      complain(who, error.message());
      return kExitInterrupted;
    }
    complain(who, error.what());
  } catch (const CLI::ParseError& error) {  // an argument that only the command understands
    complain(who, fmt::format("{}; see {} --help", error.what(), who));
    return kExitWrongUsage;
  } catch (const std::bad_alloc&) {
    complain_of_memory(who.c_str());
  } catch (const std::exception& error) {
    complain(who, fmt::format("internal error: {}", error.what()));
  }
  return kExitFailure;
}

int run_command_line(int argc, const char* const* argv, const std::vector<InputKind>& own_kinds) {
  fill_closed_streams();
  std::set_terminate(&end_without_memory);
  // An output that would be larger than ulimit -f allows is an error, not the end of the process.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Input pipelines that feed a (simulated) TPU", "infeed");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("-V,--version", "infeed " INFEED_VERSION, "Print the version");
  set_help(app);
  app.require_subcommand(1);
  app.footer(
      "infeed COMMAND --help or infeed help COMMAND explains a command's options.\n"
      "Exit status: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.\n");
  const std::vector<Command> commands{add_convert_command(app, own_kinds),
                                      add_reshard_command(app),
                                      add_inspect_command(app),
                                      add_batch_command(app),
                                      add_verify_command(app),
                                      add_repair_command(app),
                                      add_index_command(app),
                                      add_train_command(app),
                                      add_feed_command(app),
                                      add_pace_command(app),
                                      add_step_command(app),
                                      add_profile_command(app),
                                      add_top_command(app),
                                      add_compare_command(app),
                                      add_plan_command(app),
                                      add_completion_command(app),
                                      add_help_command(app, INFEED_VERSION)};
  for (const Command& command : commands) refuse_senseless_values(*command.options);
  if (argc < 2) return complain_about_command(commands, "which command?", "");
  if (argv[1][0] != '-' && !is_command(commands, argv[1])) {
    return complain_about_command(commands, fmt::format("there is no command '{}'", argv[1]),
                                  argv[1]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    return check_output("infeed");
  } catch (const CLI::ParseError& error) {
    return complain_about_usage(app, error);
  }
  for (const Command& command : commands) {
    if (command.options->parsed()) return run(command, "infeed " + command.options->get_name());
  }
  return kExitWrongUsage;
}

}  // namespace
}  // namespace infeed::tools

int infeed::run_command(int argc, const char* const* argv,
                        const std::vector<InputKind>& own_kinds) try {
  return tools::run_command_line(argc, argv, own_kinds);
} catch (const std::bad_alloc&) {  // for the options, or for the text of another error
  tools::complain_of_memory("infeed");
  return tools::kExitFailure;
}
