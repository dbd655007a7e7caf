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
///     throw infeed::Error(infeed::ErrorCode::data_loss,
///                         "record is cut: 12 of 784 bytes are there")
///         .at_file("train-00003-of-00016.tfrecord").at_offset(48'210).at_record(61);
///
/// In a pipeline an error belongs to one element or is terminal. An *element's* error takes the
/// place of one element (a damaged record, a missing file among many, a user's function that
/// throws): skip_errors may leave it out, and the next call of next() goes on behind it. A
/// *terminal* error ends the stream (cancelled, a deadline, memory that was refused, a stage's own
/// failure): next() throws it at every later call, and a checkpoint taken then resumes before it.
/// is_terminal() tells them apart.
///
/// Thread-safety: a value: built by one thread, then read by any.
namespace infeed {

enum class ErrorCode {
  invalid_argument,     ///< the caller's mistake: an option, a schema, a name
  not_found,            ///< a file, key or class that should be there is not
  permission_denied,    ///< it is there, but may not be read or written
  already_exists,       ///< it would overwrite something; nothing was touched
  data_loss,            ///< bytes are damaged or missing
  resource_exhausted,   ///< a budget or the disk is full
  failed_precondition,  ///< the state of the world forbids it (a checkpoint that doesn't match)
  deadline_exceeded,    ///< a time limit ran out
  unavailable,          ///< transient: trying again may help
  cancelled,            ///< somebody asked to stop
  user_function,        ///< a function given by the user threw something that is not an Error
  internal,             ///< a bug of ours
};

/// Returns the enumerator as it is written above ("data_loss"): one word, for logs and programs.
std::string_view to_string(ErrorCode code);

/// The data lost besides the one element that an error stands for: a damaged record may cost the
/// rest of its file. A count that nobody knows is empty.
struct Lost {
  /// Records lost, without the one that the error stands for. Known where an index says it.
  std::optional<std::uint64_t> records = std::nullopt;
  /// Bytes lost from the damage on, the damaged record's included; decompressed bytes in a
  /// compressed file.
  std::optional<std::uint64_t> bytes = std::nullopt;

  /// "249 records (5976 bytes)", "5976 bytes", "an unknown number of records".
  std::string to_string() const;
  bool operator==(const Lost&) const = default;
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  Error&& at_stage(std::string stage) &&;
  Error&& at_file(std::string file) &&;
  Error&& at_offset(std::uint64_t offset_bytes) &&;
  Error&& at_record(std::uint64_t record) &&;
  Error&& losing(Lost lost) &&;
  Error& at_stage(std::string stage) &;
  Error& at_file(std::string file) &;
  Error& at_offset(std::uint64_t offset_bytes) &;
  Error& at_record(std::uint64_t record) &;
  /// Keeps the exception that a user's function threw, beside the text made of it.
  Error& caused_by(std::exception_ptr cause) &;
  /// Set by the iterator that throws the error. Taken back where the error becomes one element of
  /// another pipeline (a user's function that iterates a dataset of its own).
  Error& as_terminal(bool terminal = true) &;
  /// Returns another error at the same places, with the same cause.
  Error reworded(ErrorCode code, std::string message) const;
  Error& losing(Lost lost) &;

  ErrorCode code() const { return code_; }
  /// Text of what happened, without the places.
  const std::string& message() const { return message_; }
  /// Path of the stage, outermost first: "batch(1024) < map". Empty outside a pipeline.
  const std::string& stage() const { return stage_; }
  /// Name of the file; a URL without its secrets (redacted_url() in infeed/records/files.h).
  const std::string& file() const { return file_; }
  std::optional<std::uint64_t> offset() const { return offset_; }
  /// Number of the record in its file, from 0.
  std::optional<std::uint64_t> record() const { return record_; }
  /// The exception that a user's function threw, if it was no infeed::Error: std::rethrow_exception
  /// lets a caller catch it by its own type. Null otherwise, and for an error that was read from a
  /// file.
  const std::exception_ptr& cause() const { return cause_; }
  /// True if the stream ends with this error, at this and every later call of next().
  bool is_terminal() const { return terminal_; }
  /// Data lost besides the failed element. Empty when nothing else is lost.
  const std::optional<Lost>& lost() const { return lost_; }

  /// "data_loss: record is cut: ... [file x.tfrecord, offset 48210, record 61, lost with it 249
  /// records, stage map]". Control characters and bytes that aren't UTF-8 appear as `\xNN`: the
  /// text is printed; message() and the places have them as they are.
  const char* what() const noexcept override;

 private:
  void build_text();

  ErrorCode code_;
  std::string message_;
  std::string stage_;
  std::string file_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> record_;
  std::exception_ptr cause_;
  bool terminal_ = false;
  std::optional<Lost> lost_;
  std::string text_;
};

}  // namespace infeed
