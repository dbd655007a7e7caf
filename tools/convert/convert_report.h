#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/terminal.h"
#include "convert/convert.h"

/// Reports of `infeed convert` on a set of shards: for people on the terminal, for programs as
/// JSON.
namespace infeed::tools {

/// Shows "train: ███···  42 %  1,204,311 examples/s  0:07 left". Times count from its construction.
class ProgressLine {
 public:
  ProgressLine(Terminal& terminal, std::string set);
  void show(const ConvertProgress& progress);

 private:
  Terminal& terminal_;
  const std::string set_;
  const std::chrono::steady_clock::time_point begin_;
};

/// Returns "0:07", "2:03:59".
std::string as_duration(double seconds);

void print_result(Terminal& terminal, const std::string& set, const ExampleInput& input,
                  const ConvertResult& result);
void print_estimate(Terminal& terminal, const std::string& set, const ExampleInput& input,
                    const ConvertEstimate& estimate);

/// Returns one entry of "sets" (tools/README.md).
nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertResult& result);
nlohmann::json describe(const std::string& set, const ExampleInput& input,
                        const ConvertEstimate& estimate);

}  // namespace infeed::tools
