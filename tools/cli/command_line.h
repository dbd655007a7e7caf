#pragma once

#include <functional>
#include <stop_token>

namespace CLI {
class App;
}

/// Why: one program, many commands. Each command has a file pair (convert_command.h,
/// train_command.h) that adds its options to the parser and returns the function to run.
/// run_command() (infeed/convert/command.h) puts them together.
namespace infeed::tools {

/// A subcommand: its place in the parser, and the function that runs it after the options are read.
/// It throws on failure; infeed::Error (cancelled) after a stop request means an orderly end.
struct Command {
  CLI::App* options = nullptr;
  std::function<void(std::stop_token stop)> run = {};
};

}  // namespace infeed::tools
