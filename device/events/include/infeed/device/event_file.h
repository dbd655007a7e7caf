#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/shape.h>

/// Why: learning curves belong into TensorBoard, which reads event files: TFRecords of Event
/// messages, the first of which says "brain.Event:2" (tensorflow/core/util/event.proto).
///
///     infeed::EventFileWriter events("logs/train");  // events.out.tfevents.TIME.HOST.PID.N
///     events.scalar("epoch_loss", epoch, 0.2845);
///     std::vector<float> weights = {0.25F, -0.5F};
///     events.histogram("weights/dense/kernel", epoch, weights);
///     events.text("configuration", 0, "batches of **128**");
///
/// Every call appends one whole record with one system call, so the file can be read while it grows
/// and after a crash is whole up to the last call. (That is why it isn't written under a temporary
/// name.) A call that fails takes back what it wrote.
///
/// TensorBoard shows all files of a folder as one run, in the order of their names: a new file's name
/// comes behind those that are there. In tags, names and texts bytes that are no UTF-8 become \xNN.
///
/// Errors: those of file.h, with the file's name; invalid_argument for what no reader could show.
/// Thread-safety: one thread at a time.
namespace infeed {

/// A node of a graph that TensorBoard draws.
struct EventNode {
  std::string name = {};  ///< one of a kind; what stands before slashes makes boxes that open
  std::string op = {};    ///< what it does: "dense"
  std::vector<std::string> inputs = {};  ///< names of other nodes
  std::string device = {};               ///< "/device:TPU:0"; may be empty
  Shape output = {};                     ///< stands at its edges
};

class EventFileWriter {
 public:
  /// Creates the folder if need be, and in it a new file, never one that exists.
  explicit EventFileWriter(const std::string& directory);

  /// Says that the run goes on with this step: TensorBoard drops the points of this step and later
  /// that earlier files of the folder hold (SessionLog.START). Every file of a run that may be resumed
  /// begins with it, the first one as well.
  void start_at(std::int64_t step);

  /// A point of the curve `tag`, now. TensorBoard keeps float32.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// The same at a given time (seconds since 1970).
  void scalar_at(double wall_time_s, std::string_view tag, std::int64_t step, double value);

  /// How the values are distributed. The buckets are TensorFlow's own: each reaches a tenth further than
  /// the one before, from 1e-12 to 1e20, on both sides of 0. Returns how many values were NaN or
  /// infinite: those are in no bucket, and neither in the minimum, maximum, count and sums.
  std::int64_t histogram(std::string_view tag, std::int64_t step, std::span<const float> values);

  /// A picture: the bytes of a PNG file, which says itself how large it is.
  void image(std::string_view tag, std::int64_t step, std::string_view png);

  /// A text, which TensorBoard shows as Markdown.
  void text(std::string_view tag, std::int64_t step, std::string_view text);

  /// The graph of the run; a run has one, the newest counts. Inputs come from the nodes given.
  void graph(std::span<const EventNode> nodes);

  const std::string& path() const { return file_.name(); }

 private:
  void append(std::string_view event);

  File file_;
};

}  // namespace infeed
