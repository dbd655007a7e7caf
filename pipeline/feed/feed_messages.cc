#include "feed/feed_messages.h"

#include <fmt/format.h>
#include <optional>

#include <infeed/detail/message_values.h>
#include <infeed/pipeline/detail/column_batch_element.h>

namespace infeed::detail {
namespace {

/// The parts of an Error that travel. The exception that caused it stays in its process; its text is in the
/// message.
struct SentError {
  std::uint8_t code = 0;
  bool is_terminal = false;
  std::string message = {};
  std::string stage = {};
  std::string file = {};
  std::optional<std::uint64_t> offset = std::nullopt;
  std::optional<std::uint64_t> record = std::nullopt;
  std::optional<std::uint64_t> lost_records = std::nullopt;
  std::optional<std::uint64_t> lost_bytes = std::nullopt;
};

/// A Cardinality.
struct SentCount {
  bool is_finite = false;
  bool is_infinite = false;
  std::uint64_t count = 0;
};

std::string_view text_of(const Communicator::Message& message) {
  return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

/// Calls the function, which reads a message of that rank. Its Error is terminal: the message is
/// damaged, and no element.
template <class Function>
auto terminal_if_damaged(int rank, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw terminal(
        ErrorCode::data_loss,
        fmt::format("feed: rank {} sent a damaged message: {}; do all ranks run the same "
                    "version of infeed?",
                    rank, error.message()));
  }
}

/// Takes the value off the front of the bytes of that rank's message.
template <class T>
T take(int rank, std::string_view& bytes) {
  return terminal_if_damaged(rank, [&] { return take_value<T>(bytes); });
}

}  // namespace

std::string bytes_of(const StepRequest& request) {
  std::string bytes;
  append_value(request, bytes);
  return bytes;
}

StepRequest read_request(const Communicator::Message& message) {
  std::string_view bytes = text_of(message);
  StepRequest request = take<StepRequest>(message.source, bytes);
  check_world(request.share);
  return request;
}

std::string bytes_of(const StepAnswer& answer) {
  std::string bytes;
  append_value(answer, bytes);
  return bytes;
}

void append_error(const Error& error, std::string& out) {
  SentError sent{.code = static_cast<std::uint8_t>(error.code()),
                 .is_terminal = error.is_terminal(),
                 .message = error.message(),
                 .stage = error.stage(),
                 .file = error.file(),
                 .offset = error.offset(),
                 .record = error.record()};
  if (error.lost()) {
    sent.lost_records = error.lost()->records;
    sent.lost_bytes = error.lost()->bytes;
  }
  append_value(sent, out);
}

void append_batch(const ColumnBatch& batch, std::string& out) { encode_columns(batch, out); }

void append_cardinality(const Cardinality& cardinality, std::string& out) {
  append_value(SentCount{.is_finite = cardinality.is_finite(),
                         .is_infinite = cardinality.is_infinite(),
                         .count = cardinality.count()},
               out);
}

ReceivedAnswer::ReceivedAnswer(Communicator::Message message) : message_(std::move(message)) {
  std::string_view payload = text_of(message_);
  head_ = take<StepAnswer>(message_.source, payload);
  payload_begin_ = message_.bytes.size() - payload.size();
}

std::string_view ReceivedAnswer::payload() const {
  return text_of(message_).substr(payload_begin_);
}

Checkpoint ReceivedAnswer::place() const {
  return terminal_if_damaged(message_.source,
                             [this] { return Checkpoint::from_text(head_.place); });
}

ColumnBatch ReceivedAnswer::batch() const {
  return terminal_if_damaged(message_.source, [this] { return decode_columns(payload()); });
}

Cardinality ReceivedAnswer::cardinality() const {
  std::string_view bytes = payload();
  const auto sent = take<SentCount>(message_.source, bytes);
  if (sent.is_finite) return Cardinality::finite(sent.count);
  return sent.is_infinite ? Cardinality::infinite() : Cardinality::unknown();
}

Error ReceivedAnswer::error() const {
  std::string_view bytes = payload();
  auto sent = take<SentError>(message_.source, bytes);
  if (sent.code > static_cast<std::uint8_t>(ErrorCode::internal)) {
    throw terminal(
        ErrorCode::data_loss,
        fmt::format("rank {} sent an error of the unknown kind {}: do all ranks run the same "
                    "version of infeed?",
                    message_.source, sent.code));
  }
  Error error(static_cast<ErrorCode>(sent.code), std::move(sent.message));
  if (!sent.stage.empty()) error.at_stage(std::move(sent.stage));
  if (!sent.file.empty()) error.at_file(std::move(sent.file));
  if (sent.offset) error.at_offset(*sent.offset);
  if (sent.record) error.at_record(*sent.record);
  if (sent.lost_records || sent.lost_bytes) {
    error.losing(Lost{.records = sent.lost_records, .bytes = sent.lost_bytes});
  }
  return error.as_terminal(sent.is_terminal);
}

}  // namespace infeed::detail
