#pragma once

#include <functional>
#include <stop_token>

namespace CLI {
class App;
}

/// Why: one program, many commands. Each command has a file pair (convert_command.h,
/// train_command.h) that adds its options to the parser and hands back what to run. The whole is
/// run_command() (infeed/convert/command.h).
namespace infeed::tools {

/// A subcommand: where it was added, and what it does once the options are read. It reports failure
/// by throwing; infeed::Error (cancelled) after a stop request means: ended in order.
struct Command {
  CLI::App* options = nullptr;
  std::function<void(std::stop_token stop)> run = {};
};

}  // namespace infeed::tools
