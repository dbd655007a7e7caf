// host FILE CHECKPOINT STEPS: one host of a job, which finds its place by a launcher's variables. It
// goes on from CHECKPOINT, if that exists, and writes CHECKPOINT.RANK and the ids of its rows, a line
// a step, to CHECKPOINT.RANK.rows.
//
// host write FOLDER: writes the records that hosts share, some of them bad, and prints their file.

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

#include "world/shared_rows.h"

namespace infeed::test {
namespace {

std::optional<Checkpoint> read_checkpoint(const std::string& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return Checkpoint::from_text(text.str());
}

void run(const std::string& file, const std::string& checkpoint, std::uint64_t steps) {
  const DetectedWorld detected = detect_world();
  if (detected.source == "no launcher") throw std::runtime_error("there is no launcher");
  const HostRun run = run_host(file, detected.world, read_checkpoint(checkpoint), steps);
  const std::string out = checkpoint + "." + std::to_string(detected.world.rank);
  std::ofstream rows(out + ".rows");
  for (const auto& ids : run.steps) {
    for (const std::int64_t id : ids) rows << id << ' ';
    rows << '\n';
  }
  std::ofstream(out) << run.checkpoint.to_text();
}

}  // namespace
}  // namespace infeed::test

int main(int count, char** arguments) {
  const bool writes = count == 3 && std::string_view(arguments[1]) == "write";
  if (count != 4 && !writes) return 2;
  try {
    if (writes) {
      std::cout << infeed::test::write_shared_rows(arguments[2]) << '\n';
      return 0;
    }
    infeed::test::run(arguments[1], arguments[2], std::strtoull(arguments[3], nullptr, 10));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
