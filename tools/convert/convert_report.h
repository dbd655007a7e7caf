#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/terminal.h"
#include "convert/convert.h"

/// What `infeed convert` says about a set of shards: to people on the terminal, to programs as
/// JSON.
namespace infeed::tools {

/// "train: ███···  42 %  1,204,311 examples/s  0:07 left", from the moment it was made.
class ProgressLine {
 public:
  ProgressLine(Terminal& terminal, std::string set);
  void show(const ConvertProgress& progress);

 private:
  Terminal& terminal_;
  const std::string set_;
  const std::chrono::steady_clock::time_point begin_;
};

/// "0:07", "2:03:59"
std::string as_duration(double seconds);

void print_result(Terminal& terminal, const std::string& set, const ExampleInput& input,
                  const ConvertResult& result);
void print_estimate(Terminal& terminal, const std::string& set, const ExampleInput& input,
                    const ConvertEstimate& estimate);

/// One entry of "sets" (tools/README.md).
nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertResult& result);
nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertEstimate& estimate);

}  // namespace infeed::tools
