#pragma once

#include <nlohmann/json.hpp>

namespace infeed::tools {

class Terminal;

/// `infeed step --validate`: prints the model's step times beside the published ones, and returns
/// the same for --json: {"points": [...], "batch_order_is_right", "holds"}.
nlohmann::ordered_json validate_steps(Terminal& terminal);

}  // namespace infeed::tools
