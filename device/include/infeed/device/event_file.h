#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Why: learning curves belong into TensorBoard, which reads event files: TFRecords of Event
/// messages, the first of which says "brain.Event:2" (tensorflow/core/util/event.proto).
///
///     infeed::EventFileWriter events("logs/train");  // events.out.tfevents.TIME.HOST.PID.N
///     events.scalar("epoch_loss", epoch, 0.2845);
///
/// Every call appends one whole record with one system call, so the file can be read while it grows
/// and after a crash is whole up to the last call. (That is why it isn't written under a temporary
/// name.)
///
/// Errors: permission_denied, resource_exhausted, unavailable, not_found, with the file's name.
/// Thread-safety: one thread at a time.
namespace infeed {

class EventFileWriter {
 public:
  /// Creates the folder if need be, and in it a new file, never one that exists.
  explicit EventFileWriter(const std::string& directory);
  ~EventFileWriter();
  EventFileWriter(EventFileWriter&& other) noexcept;
  EventFileWriter& operator=(EventFileWriter&& other) noexcept;

  /// A point of the curve `tag`, now. TensorBoard keeps float32.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// The same at a given time (seconds since 1970).
  void scalar_at(double wall_time_s, std::string_view tag, std::int64_t step, double value);

  const std::string& path() const { return path_; }

 private:
  void append(std::string_view event);

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace infeed
