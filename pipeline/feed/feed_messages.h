#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <infeed/communicator.h>
#include <infeed/error.h>
#include <infeed/pipeline/cardinality.h>
#include <infeed/pipeline/checkpoint.h>
#include <infeed/records/column_batch.h>

namespace infeed::detail {

inline constexpr int kFeedRequestTag = 5'300;
inline constexpr int kFeedAnswerTag = 5'301;

/// Returns an error that ends the stream.
inline Error terminal(ErrorCode code, std::string message) {
  Error error(code, std::move(message));
  return error.as_terminal();
}

/// A range of steps. A run is a number that a feeder gives anew when its earlier requests don't
/// count any more.
struct StepRequest {
  std::uint64_t run = 0;
  std::uint64_t first = 0;
  std::uint64_t steps = 0;  ///< 0: only the place at the start is asked for
  std::uint64_t epoch = 0;
  World share = {};
  std::string pipeline = {};
  std::string place = {};  ///< a checkpoint at or before the first step; empty: the start
  bool is_last = false;    ///< the trainer dismisses the worker; nothing else counts
};

enum class AnswerKind : std::uint8_t {
  alive,   ///< a sign of life
  place,   ///< the checkpoint at the start; payload: the number of batches
  batch,   ///< payload: the batch
  error,   ///< an element's error takes the step's place; payload: the error
  end,     ///< there is no such step
  failed,  ///< the worker can't make this step or those behind it; payload: the error
};

struct StepAnswer {
  std::uint64_t run = 0;
  std::uint64_t step = 0;
  AnswerKind kind = AnswerKind::alive;
  std::string place = {};  ///< the checkpoint behind the step
};

// Bytes of messages. Both ends are the same version of this library, which the fingerprints that the
// job compares at its start make sure of. read_...() throw Error(data_loss) for other bytes.

std::string bytes_of(const StepRequest& request);
StepRequest read_request(const Communicator::Message& message);

/// Returns the answer, to which the caller appends the payload.
std::string bytes_of(const StepAnswer& answer);
void append_error(const Error& error, std::string& out);
void append_batch(const ColumnBatch& batch, std::string& out);
void append_cardinality(const Cardinality& cardinality, std::string& out);

/// An answer and its payload, which is in the message's memory until it is read.
class ReceivedAnswer {
 public:
  explicit ReceivedAnswer(Communicator::Message message);

  const StepAnswer& head() const { return head_; }
  // The place and the payloads. Throw a terminal Error(data_loss) for other bytes.
  Checkpoint place() const;
  ColumnBatch batch() const;
  Error error() const;
  Cardinality cardinality() const;

 private:
  std::string_view payload() const;

  Communicator::Message message_;
  StepAnswer head_;
  std::size_t payload_begin_ = 0;
};

}  // namespace infeed::detail
