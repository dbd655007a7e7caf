#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "infeed/error.h"

/// Why: records hold protobuf messages whose classes this program wasn't compiled with: a user's
/// own, or another team's. Their type comes from a descriptor set, a file that protoc writes:
///
/// ```text
///     protoc --include_imports --descriptor_set_out=shop.pb shop.proto
/// ```
///
///     const infeed::MessageType click("shop.pb", "shop.Click");
///     std::string text = click.text(record.bytes());             // "id: 7\nquery: \"shoes\"\n"
///
/// message_parser.h makes columns of such messages. Where the class is known when the program is
/// compiled, infeed/pipeline/parse_message.h makes objects of it.
///
/// Errors: those of reading the file; data_loss for a file that is no descriptor set; not_found for
/// a type that it doesn't hold, with the names that it has. Thread-safety: immutable, any threads
/// may call it at once; copies share everything.
namespace infeed {

namespace detail {
struct MessageTypeContent;
}  // namespace detail

class MessageType {
 public:
  /// Takes the type of that full name ("package.Message") from the descriptor set in `file`. Without
  /// a name it takes the only message of the set's last file, the one that protoc was called with.
  /// A stop request ends waiting for a `file` that is a pipe or a URL (cancelled).
  explicit MessageType(const std::string& file, const std::string& name = {},
                       const std::stop_token& stop = {});

  const std::string& name() const;

  /// Throws data_loss if the bytes are no such message (see parse_message), or invalid_argument if
  /// required fields are missing.
  void check(std::string_view bytes) const;
  /// Returns the message in protobuf's text format, a field a line, and fields of inner messages
  /// indented. Texts and bytes longer than `value_bytes_max` are cut; 0: none is. Throws as check()
  /// does.
  std::string text(std::string_view bytes, std::size_t value_bytes_max = 1024) const;

 private:
  friend class MessageParser;

  std::shared_ptr<const detail::MessageTypeContent> content_;
};

}  // namespace infeed
