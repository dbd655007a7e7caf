#include "infeed/pipeline/element_codec.h"

#include <fmt/format.h>

namespace infeed {
namespace {

[[noreturn]] void fail(const Record& record, const std::string& message) {
  Error error(ErrorCode::data_loss, message);
  if (!record.file().empty()) error.at_file(std::string(record.file()));
  if (record.offset()) error.at_offset(*record.offset());
  if (record.number()) error.at_record(*record.number());
  throw error;
}

}  // namespace

std::string_view ElementReader::bytes(std::uint64_t size) {
  if (size > rest_.size()) {
    fail(record_, fmt::format("the record is no element of this type: {} bytes were expected, and "
                              "{} of its {} are left",
                              size, rest_.size(), record_.size()));
  }
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::size_t ElementReader::count(std::size_t bytes_each) {
  const auto count = number<std::uint64_t>();
  if (bytes_each > 0 && count > rest_.size() / bytes_each) {
    fail(record_, fmt::format("the record is no element of this type: {} parts of at least {} "
                              "bytes were expected, and {} of its {} bytes are left",
                              count, bytes_each, rest_.size(), record_.size()));
  }
  return static_cast<std::size_t>(count);
}

void ElementReader::expect_end() const {
  if (rest_.empty()) return;
  fail(record_, fmt::format("the record is no element of this type: {} of its {} bytes are left "
                            "over",
                            rest_.size(), record_.size()));
}

}  // namespace infeed
