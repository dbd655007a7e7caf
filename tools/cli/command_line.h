#pragma once

#include <functional>
#include <stop_token>
#include <string_view>
#include <vector>

#include <infeed/convert/command.h>

namespace CLI {
class App;
}

/// Why: one program, many commands. Each command has a .cc (train_command.cc) that adds its options to
/// the parser and returns the function to run. run_command() (infeed/convert/command.h) puts them
/// together.
namespace infeed::tools {

/// A subcommand: its place in the parser, and the function that runs it after the options are read.
/// It throws on failure; infeed::Error (cancelled) after a stop request means an orderly end.
struct Command {
  CLI::App* options = nullptr;
  std::function<void(std::stop_token stop)> run = {};
  /// Returns the exit status of a run that didn't throw; without it 0.
  std::function<int()> status = {};
};

/// `infeed convert`: makes TFRecord shards from other data.
Command add_convert_command(CLI::App& app, const std::vector<InputKind>& own_kinds);
/// `infeed reshard`: the same with record files as the input.
Command add_reshard_command(CLI::App& app);
/// `infeed inspect`: shows the content of record files.
Command add_inspect_command(CLI::App& app);
/// `infeed batch`: shows the batch of any step of a run, and where its rows come from.
Command add_batch_command(CLI::App& app);
/// `infeed verify`: compares a dataset with its manifest.
Command add_verify_command(CLI::App& app);
/// `infeed repair`: saves the records of a damaged file.
Command add_repair_command(CLI::App& app);
/// `infeed index`: writes an index beside record files.
Command add_index_command(CLI::App& app);
/// `infeed train`: the main job, from images to a trained model (train.h).
Command add_train_command(CLI::App& app);
/// `infeed feed`: makes the batches of the trainers of the same MPI job; with --take it is a trainer
/// that only takes them.
Command add_feed_command(CLI::App& app);
/// `infeed pace`: measures how well this machine holds a device's deadlines, and whether a pipeline
/// keeps up.
Command add_pace_command(CLI::App& app);
/// `infeed step`: shows how long a model's step takes on a slice, and what the hosts must deliver.
Command add_step_command(CLI::App& app);
/// `infeed profile`: why an accelerator waits, from a recorded run.
Command add_profile_command(CLI::App& app);
/// `infeed top`: what a running process is doing.
Command add_top_command(CLI::App& app);
/// `infeed compare`: two recorded runs.
Command add_compare_command(CLI::App& app);
/// `infeed plan`: the hosts that a slice needs, from one recorded run.
Command add_plan_command(CLI::App& app);
/// `infeed completion bash|zsh`.
Command add_completion_command(CLI::App& app);
/// `infeed help [COMMAND]`.
Command add_help_command(CLI::App& app, std::string_view version);
/// Prints help in the form of that command for the program and for every command that is added later.
void set_help(CLI::App& app);

}  // namespace infeed::tools
