#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

namespace infeed::tools {

class Terminal;

/// A name in the JSON keeps its meaning; a change raises the version.
inline constexpr int kPlanSchemaVersion = 1;

/// Prints a row for each number of hosts, and the verdict.
void print_plan(const Plan& plan, Terminal& terminal);

nlohmann::ordered_json plan_json(const Plan& plan);

/// Returns an SVG picture of the duty cycle over the number of hosts: as recorded, with what the
/// plan needs, and measured runs as points.
std::string plan_svg(const Plan& plan);

}  // namespace infeed::tools
