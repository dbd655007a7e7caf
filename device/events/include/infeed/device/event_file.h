#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/shape.h>

/// Why: TensorBoard shows learning curves from event files: TFRecords of Event messages, the first
/// of which says "brain.Event:2" (tensorflow/core/util/event.proto).
///
///     infeed::EventFileWriter events("logs/train");  // events.out.tfevents.TIME.HOST.PID.N
///     events.scalar("epoch_loss", epoch, 0.2845);
///     std::vector<float> weights = {0.25F, -0.5F};
///     events.histogram("weights/dense/kernel", epoch, weights);
///     events.text("configuration", 0, "batches of **128**");
///
/// Every call appends one whole record with one system call. So the file can be read while it
/// grows, and after a crash it is whole up to the last call. (That is why it isn't written under a
/// temporary name.) A call that fails takes back what it wrote.
///
/// TensorBoard shows all files of a folder as one run, in the order of their names. A new file's
/// name sorts behind the existing ones. In tags, names and texts, bytes that are no UTF-8 become
/// `\xNN`.
///
/// Errors: those of file.h, with the file's name; invalid_argument for input that no reader could
/// show.
/// Thread-safety: one thread at a time.
namespace infeed {

/// A node of a graph that TensorBoard draws.
struct EventNode {
  std::string name = {};                 ///< unique; parts before slashes become boxes that open
  std::string op = {};                   ///< the operation: "dense"
  std::vector<std::string> inputs = {};  ///< names of other nodes
  std::string device = {};               ///< "/device:TPU:0"; may be empty
  Shape output = {};                     ///< shown at its edges
};

class EventFileWriter {
 public:
  /// Creates the folder if need be, and in it a new file, never overwriting one.
  explicit EventFileWriter(const std::string& directory);

  /// Marks that the run goes on with this step: TensorBoard drops the points of this step and later
  /// ones in earlier files of the folder (SessionLog.START). Every file of a resumable run begins
  /// with this mark, the first file as well.
  void start_at(std::int64_t step);

  /// Writes a point of the curve `tag`, with the current time. TensorBoard keeps float32.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// Writes a point with a given time (seconds since 1970).
  void scalar_at(double wall_time_s, std::string_view tag, std::int64_t step, double value);

  /// Writes the distribution of the values. The buckets are TensorFlow's: each reaches a tenth
  /// further than the one before, from 1e-12 to 1e20, on both sides of 0. Returns how many values
  /// were NaN or infinite; they count in no bucket, minimum, maximum, count or sum.
  std::int64_t histogram(std::string_view tag, std::int64_t step, std::span<const float> values);

  /// Writes a picture: the bytes of a PNG file, which contain its size.
  void image(std::string_view tag, std::int64_t step, std::string_view png);

  /// Writes a text, which TensorBoard shows as Markdown.
  void text(std::string_view tag, std::int64_t step, std::string_view text);

  /// Writes the graph of the run; of several the newest counts. Inputs name other nodes.
  void graph(std::span<const EventNode> nodes);

  const std::string& path() const { return file_.name(); }

 private:
  void append(std::string_view event);

  File file_;
};

}  // namespace infeed
