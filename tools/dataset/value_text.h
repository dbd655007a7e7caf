#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <infeed/protobuf/message_type.h>

/// Features in a form for people.
namespace infeed::tools {

/// "784 bytes: 00 00 1f", "JPEG image of 10,231 bytes", "'Ann'"
std::string describe_bytes(std::string_view bytes, int width);

/// Returns a line a feature: "label   [9]". If the record is no tf.train.Example, one line says so.
std::vector<std::string> describe_example(std::string_view example, int columns);

/// Returns the message in protobuf's text format, a field a line. If the record is no such message,
/// one line says so.
std::vector<std::string> describe_message(const MessageType& type, std::string_view message,
                                          int columns);

}  // namespace infeed::tools
