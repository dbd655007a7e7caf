#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "infeed/convert/example_input.h"

/// Why: convert data in your own format into record shards with the program that you know, with its
/// shuffling, splitting, resuming, manifest and progress. You write the reader and a main:
///
///     int main(int argc, char** argv) {
///       return infeed::run_command(argc, argv, {{.name = "shapes", .name_ends = {".shapes"},
///                                                .open = open_shapes}});
///     }
///
/// and link infeed::convert. `my_program convert 'data/*.shapes' -o shards` then reads them. Every
/// other command of infeed is there, too.
namespace infeed {

/// A kind of data, as --kind names it.
struct InputKind {
  std::string name;
  /// Files whose names end so ("x.shapes", in any case) are of this kind without --kind. These
  /// endings come before those of infeed's own kinds.
  std::vector<std::string> name_ends = {};
  /// `names`: the files that were found, sorted, at least one; with --kind also folders, as given.
  /// Its exceptions are shown to the user: throw infeed::Error with the file.
  std::function<std::unique_ptr<ExampleInput>(const std::vector<std::string>& names)> open = {};
};

/// Runs the infeed command: reads the arguments, runs, and returns the exit status (0 done, 1
/// failed, 2 wrong usage, 130 stopped). Every error is a line on stderr. Call it before any thread
/// is started.
int run_command(int argc, const char* const* argv, const std::vector<InputKind>& own_kinds = {});

}  // namespace infeed
