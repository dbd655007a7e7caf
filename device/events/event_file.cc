#include "infeed/device/event_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <infeed_events/events.pb.h>
#include <limits>
#include <unistd.h>
#include <unordered_set>

#include <infeed/detail/folder_entries.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/detail/printable_text.h>
#include <infeed/records/detail/record_frame.h>

#include "events/value_histogram.h"
#include "refuse.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// Returns the time in the name of an event file, in seconds since 1970; 0 for another file.
std::int64_t time_in_name(const std::string& name) {
  if (!name.starts_with(kFilePrefix)) return 0;
  constexpr std::int64_t kMax = 9'999'999'998;  // ten digits, leaving room for a later time
  std::string_view digits = std::string_view(name).substr(kFilePrefix.size());
  std::int64_t time = 0;
  detail::take_number(digits, time);
  return time <= kMax ? std::max<std::int64_t>(time, 0) : 0;
}

/// Returns the time for the name of a new file: now, or later if a file of this second exists.
/// TensorBoard reads the files of a folder in the order of their names.
std::int64_t time_for_name(const std::string& directory, std::int64_t now) {
  std::int64_t time = now;
  for (const std::string& name : detail::names_in_folder(directory)) {
    time = std::max(time, time_in_name(name) + 1);
  }
  return time;
}

std::string utf8_of(std::string_view bytes) {
  return detail::has_only_utf8(bytes) ? std::string(bytes) : detail::utf8_name(bytes);
}

events::Event event_at(double wall_time_s, std::int64_t step) {
  events::Event event;
  event.set_wall_time(wall_time_s);
  event.set_step(step);
  return event;
}

events::Event event_now(std::int64_t step) { return event_at(now_s(), step); }

/// Adds the event's only value.
events::Summary::Value& value_of(events::Event& event, std::string_view tag) {
  events::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(utf8_of(tag));
  return value;
}

std::string bytes_of(const google::protobuf::MessageLite& message) {
  constexpr auto kBytesMax = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (message.ByteSizeLong() > kBytesMax) {
    detail::refuse("an event of {} bytes; TensorBoard reads up to {}", message.ByteSizeLong(),
                   kBytesMax);
  }
  return message.SerializeAsString();
}

/// Describes a picture by the header of its file (PNG specification, chapter 11.2.2).
events::Summary::Image image_of(std::string_view tag, std::string_view png) {
  constexpr std::string_view kBegin("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  constexpr std::size_t kHeaderBytes = 26;
  constexpr std::array<std::int32_t, 7> kChannels = {1, 0, 3, 3, 2, 0, 4};  // by colour type
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(png[at]); };
  const auto number = [&](std::size_t at) {
    return std::int64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
  };
  const bool is_png = png.size() >= kHeaderBytes && png.starts_with(kBegin);
  const std::size_t type = is_png ? byte(25) : kChannels.size();
  const std::int64_t width = is_png ? number(16) : 0;
  const std::int64_t height = is_png ? number(20) : 0;
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (type >= kChannels.size() || kChannels[type] == 0 || std::min(width, height) < 1 ||
      std::max(width, height) > kMax) {
    detail::refuse("the image '{}' doesn't begin as a PNG file does; give all bytes of one",
                   detail::printable_text(tag));
  }
  events::Summary::Image image;
  image.set_width(static_cast<std::int32_t>(width));
  image.set_height(static_cast<std::int32_t>(height));
  image.set_colorspace(kChannels[type]);
  image.set_encoded_image_string(std::string(png));
  return image;
}

/// Throws unless names are unique, and inputs are names of nodes.
void check_graph(std::span<const EventNode> nodes) {
  std::unordered_set<std::string_view> names;
  for (const EventNode& node : nodes) {
    if (node.name.empty() || !names.insert(node.name).second) {
      detail::refuse("a graph has {} '{}'; give each node a name of its own",
                     node.name.empty() ? "a node with the name" : "two nodes named",
                     detail::printable_text(node.name));
    }
  }
  for (const EventNode& node : nodes) {
    for (const std::string& input : node.inputs) {
      if (names.contains(input)) continue;
      detail::refuse("node '{}' of a graph reads '{}', which is no node of it",
                     detail::printable_text(node.name), detail::printable_text(input));
    }
  }
}

events::NodeDef node_of(const EventNode& node) {
  events::NodeDef made;
  made.set_name(utf8_of(node.name));
  made.set_op(utf8_of(node.op));
  made.set_device(utf8_of(node.device));
  for (const std::string& input : node.inputs) made.add_input(utf8_of(input));
  // The page that draws graphs looks for shapes in this attribute.
  events::TensorShapeProto& shape =
      *(*made.mutable_attr())["_output_shapes"].mutable_list()->add_shape();
  for (const std::int64_t extent : node.output) shape.add_dim()->set_size(extent);
  return made;
}

}  // namespace

EventFileWriter::EventFileWriter(const std::string& directory) {
  make_folder(directory);
  const double now = now_s();
  const std::int64_t time = time_for_name(directory, static_cast<std::int64_t>(now));
  for (int number = 0; !file_.is_open(); ++number) {
    const std::string path =
        (fs::path(directory) /
         fmt::format("{}{:010d}.{}.{}.{}", kFilePrefix, time, host_name(), getpid(), number))
            .string();
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
    if (const int descriptor = open(path.c_str(), kFlags, 0666); descriptor >= 0) {
      file_ = File(descriptor, path);
    } else if (errno != EEXIST) {
      throw system_error("create", path, errno);
    }
  }
  events::Event event = event_at(now, 0);
  event.set_file_version("brain.Event:2");
  append(bytes_of(event));
}

void EventFileWriter::start_at(std::int64_t step) {
  events::Event event = event_now(step);
  event.mutable_session_log()->set_status(events::SessionLog::START);
  append(bytes_of(event));
}

void EventFileWriter::scalar(std::string_view tag, std::int64_t step, double value) {
  scalar_at(now_s(), tag, step, value);
}

void EventFileWriter::scalar_at(double wall_time_s, std::string_view tag, std::int64_t step,
                                double value) {
  events::Event event = event_at(wall_time_s, step);
  value_of(event, tag).set_simple_value(static_cast<float>(value));
  append(bytes_of(event));
}

std::int64_t EventFileWriter::histogram(std::string_view tag, std::int64_t step,
                                        std::span<const float> values) {
  const detail::ValueHistogram histogram(values);
  events::Event event = event_now(step);
  events::HistogramProto& made = *value_of(event, tag).mutable_histo();
  made.set_min(histogram.min);
  made.set_max(histogram.max);
  made.set_num(static_cast<double>(histogram.count));
  made.set_sum(histogram.sum);
  made.set_sum_squares(histogram.sum_squares);
  for (const auto& bucket : histogram.buckets) {
    made.add_bucket_limit(bucket.limit);
    made.add_bucket(static_cast<double>(bucket.count));
  }
  append(bytes_of(event));
  return histogram.not_finite;
}

void EventFileWriter::image(std::string_view tag, std::int64_t step, std::string_view png) {
  events::Event event = event_now(step);
  *value_of(event, tag).mutable_image() = image_of(tag, png);
  append(bytes_of(event));
}

void EventFileWriter::text(std::string_view tag, std::int64_t step, std::string_view text) {
  events::Event event = event_now(step);
  events::Summary::Value& value = value_of(event, tag);
  value.mutable_metadata()->set_data_class(events::DATA_CLASS_TENSOR);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value.mutable_tensor()->set_dtype(events::DT_STRING);
  value.mutable_tensor()->mutable_tensor_shape();  // no axes
  value.mutable_tensor()->add_string_val(utf8_of(text));
  append(bytes_of(event));
}

void EventFileWriter::graph(std::span<const EventNode> nodes) {
  check_graph(nodes);
  events::GraphDef graph;
  for (const EventNode& node : nodes) *graph.add_node() = node_of(node);
  constexpr std::int32_t kProducer = 22;  // the value that PyTorch's SummaryWriter writes
  graph.mutable_versions()->set_producer(kProducer);
  events::Event event = event_now(0);
  event.set_graph_def(bytes_of(graph));
  append(bytes_of(event));
}

void EventFileWriter::append(std::string_view event) {
  const detail::RecordFrame frame(event);
  const std::string record = fmt::format("{}{}{}", frame.before(), event, frame.after());
  const off_t length = lseek(file_.descriptor(), 0, SEEK_END);
  if (length < 0) throw system_error("write", path(), errno);
  try {
    file_.write(record);
  } catch (...) {
    // No reader gets past half a record, so no record may follow one.
    if (ftruncate(file_.descriptor(), length) != 0) file_.close();
    throw;
  }
}

}  // namespace infeed
