#include "infeed/records/detail/message_error.h"

#include <fmt/format.h>
#include <optional>

#include "example/wire.h"
#include "infeed/error.h"

namespace infeed::detail {
namespace {

/// Returns where the message's own field begins that can't be read; empty if all can.
std::optional<std::size_t> broken_field(std::string_view bytes) {
  WireReader reader(bytes);
  while (!reader.is_at_end()) {
    const auto at = static_cast<std::size_t>(reader.position() - bytes.data());
    try {
      reader.skip_value(reader.tag());
    } catch (const Error&) {
      return at;
    }
  }
  return std::nullopt;
}

std::string describe_damage(std::string_view bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return fmt::format("protobuf takes {} at most", kMessageBytesMax);
  }
  if (const auto at = broken_field(bytes)) {
    return fmt::format("the field at byte {} of them is cut, or not in protobuf's wire format",
                       *at);
  }
  return "the fields are whole, but a message inside is not, or a string is no UTF-8; is it "
         "another type?";
}

}  // namespace

void fail_message(std::string_view type, std::string_view bytes) {
  throw Error(ErrorCode::data_loss,
              fmt::format("{} bytes are no {}: {}", bytes.size(), type, describe_damage(bytes)));
}

void fail_required(std::string_view type, std::string_view missing) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a {} lacks what its schema requires: {}", type, missing));
}

}  // namespace infeed::detail
