#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

/// Why: an input pipeline fails in the middle of a night, far from the person who reads the
/// message. So an error says what was found, where (stage, file, offset, record), what was expected
/// and what to do, and carries those places as data so that a program can act on them.
///
///     throw infeed::Error(infeed::ErrorCode::data_loss, "record is cut: 12 of 784 bytes are
///     there")
///         .at_file("train-00003-of-00016.tfrecord").at_offset(48'210).at_record(61);
///
/// Thread-safety: a value like any other: built by one thread, then read by any.
namespace infeed {

enum class ErrorCode {
  invalid_argument,     ///< the caller's mistake: an option, a schema, a name
  not_found,            ///< a file, key or class that should be there is not
  permission_denied,    ///< it is there, but may not be read or written
  already_exists,       ///< it would overwrite something; nothing was touched
  data_loss,            ///< bytes are damaged or missing
  resource_exhausted,   ///< a budget or the disk is full
  failed_precondition,  ///< the state of the world forbids it (a mismatching checkpoint)
  deadline_exceeded,    ///< a time limit ran out
  unavailable,          ///< transient: trying again may help
  cancelled,            ///< somebody asked to stop
  user_function,        ///< a function given by the user threw something that is not an Error
  internal,             ///< a bug of ours
};

std::string_view to_string(ErrorCode code);

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  Error&& at_stage(std::string stage) &&;
  Error&& at_file(std::string file) &&;
  Error&& at_offset(std::uint64_t offset_bytes) &&;
  Error&& at_record(std::uint64_t record) &&;
  Error& at_stage(std::string stage) &;
  Error& at_file(std::string file) &;
  Error& at_offset(std::uint64_t offset_bytes) &;
  Error& at_record(std::uint64_t record) &;

  ErrorCode code() const { return code_; }
  /// What happened, without the places.
  const std::string& message() const { return message_; }
  /// Path of the stage, outermost first: "batch(1024) < map". Empty when outside a pipeline.
  const std::string& stage() const { return stage_; }
  const std::string& file() const { return file_; }
  std::optional<std::uint64_t> offset() const { return offset_; }
  /// Number of the record in its file, from 0.
  std::optional<std::uint64_t> record() const { return record_; }

  /// "data loss: record is cut: ... [file x.tfrecord, offset 48210, record 61; stage map]"
  const char* what() const noexcept override;

 private:
  void build_text();

  ErrorCode code_;
  std::string message_;
  std::string stage_;
  std::string file_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> record_;
  std::string text_;
};

}  // namespace infeed
