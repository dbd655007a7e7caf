#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Features as a person wants to read them.
namespace infeed::tools {

/// "784 bytes: 00 00 1f", "JPEG image of 10,231 bytes", "'Ann'"
std::string describe_bytes(std::string_view bytes, int width);

/// A line a feature: "label   [9]". One line that says so when the record is no tf.train.Example.
std::vector<std::string> describe_example(std::string_view example, int columns);

}  // namespace infeed::tools
