#include "infeed/device/event_file.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <sys/resource.h>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "device/error_message.h"
#include "device/events/event_reader.h"
#include "temporary_folder.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> records_of(const std::string& file) {
  RecordReader reader(file);
  std::vector<std::string> records;
  for (Record record; reader.next(record);) records.emplace_back(record.bytes());
  return records;
}

TEST(EventFile, StartsWithItsVersionAndCanBeReadWhileItGrows) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.file("logs/train"));
  EXPECT_THAT(events.path(), testing::HasSubstr("/logs/train/events.out.tfevents."));
  std::vector<std::string> records = records_of(events.path());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].size(), 9u + 2u + 13u);
  EXPECT_EQ(records[0].substr(9),
            "\x1a\x0d"
            "brain.Event:2");
  for (int step = 0; step < 3; ++step) {
    events.scalar("loss", step, 0.5);
    EXPECT_EQ(records_of(events.path()).size(), static_cast<std::size_t>(step) + 2);
  }
}

TEST(EventFile, AScalarIsTheseBytes) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  events.scalar_at(1.5, "loss", 300, 0.25);
  const std::string expected =
      "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"s  // wall_time = 1.5
      "\x10\xac\x02"s                          // step = 300
      "\x2a\x0d"s                              // summary
      "\x0a\x0b"s                              // value
      "\x0a\x04loss"s                          // tag
      "\x15\x00\x00\x80\x3e"s;                 // simple_value = 0.25
  EXPECT_EQ(records_of(events.path()).at(1), expected);
}

/// Returns the value of the only event that `write` appends.
template <class Write>
events::Summary::Value written_value(const Write& write) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  write(events);
  const std::vector<events::Event> all = events_of(events.path());
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.at(0).step(), 7);
  EXPECT_GT(all.at(0).wall_time(), 1e9);
  EXPECT_EQ(all.at(0).summary().value_size(), 1);
  return all.at(0).summary().value(0);
}

TEST(EventFile, AHistogramCountsEveryValueInItsBucket) {
  const std::vector<float> values = {-2, 0, 0, 0.5F, 1e-13F, 3e38F, 0.5F};
  const auto value = written_value(
      [&](EventFileWriter& events) { EXPECT_EQ(events.histogram("w", 7, values), 0); });
  EXPECT_EQ(value.tag(), "w");
  const events::HistogramProto& histogram = value.histo();
  EXPECT_EQ(histogram.min(), -2);
  EXPECT_EQ(histogram.max(), 3e38F);
  EXPECT_EQ(histogram.num(), 7);
  EXPECT_EQ(histogram.sum(), double{3e38F} - 1 + double{1e-13F});
  EXPECT_EQ(histogram.sum_squares(), double{3e38F} * double{3e38F});
  ASSERT_EQ(histogram.bucket_size(), histogram.bucket_limit_size());
  double left = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < histogram.bucket_size(); ++i) {
    const double right = histogram.bucket_limit(i);
    EXPECT_LT(left, right);
    const auto expected =
        std::ranges::count_if(values, [&](double item) { return item >= left && item < right; });
    EXPECT_EQ(histogram.bucket(i), static_cast<double>(expected)) << left << " to " << right;
    // A bucket reaches a tenth further than the one before; adjacent empty ones are merged.
    if (expected > 0 && left > 0 && right < 1e20) {
      EXPECT_NEAR(right / left, 1.1, 1e-9);
    }
    left = right;
  }
  EXPECT_EQ(left, std::numeric_limits<double>::max());
  // The outer buckets aren't empty, or the data server would show them inside out.
  EXPECT_EQ(histogram.bucket(0), 1);
  EXPECT_EQ(histogram.bucket_size(), 7);
}

TEST(EventFile, AHistogramLeavesOutWhatIsNotFiniteAndSaysHowMuch) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {NAN, 1, kInfinity, 3, -kInfinity};
  const auto some = written_value(
      [&](EventFileWriter& events) { EXPECT_EQ(events.histogram("w", 7, values), 3); });
  EXPECT_EQ(some.histo().num(), 2);
  EXPECT_EQ(some.histo().min(), 1);
  EXPECT_EQ(some.histo().max(), 3);
  EXPECT_EQ(some.histo().sum(), 4);
  EXPECT_EQ(some.histo().sum_squares(), 10);
  for (const std::vector<float>& none : {std::vector<float>{}, std::vector<float>{NAN, NAN}}) {
    const auto empty = written_value([&](EventFileWriter& events) {
      EXPECT_EQ(events.histogram("w", 7, none), static_cast<std::int64_t>(none.size()));
    });
    EXPECT_EQ(empty.histo().num(), 0);
    EXPECT_THAT(empty.histo().bucket(), testing::ElementsAre(0));
    EXPECT_THAT(empty.histo().bucket_limit(),
                testing::ElementsAre(std::numeric_limits<double>::max()));
  }
}

/// Returns the bytes before a picture's pixels: `size` is width and height as eight bytes.
std::string png_header(const std::string& size, char colour_type) {
  return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s + size + '\x08' + colour_type + "and so on";
}

TEST(EventFile, AnImageSaysItsSizeAndChannels) {
  const std::string png = png_header("\0\0\x01\x02\0\0\0\x1c"s, 2);
  const auto value = written_value([&](EventFileWriter& events) { events.image("digit", 7, png); });
  EXPECT_EQ(value.tag(), "digit");
  EXPECT_EQ(value.image().width(), 258);
  EXPECT_EQ(value.image().height(), 28);
  EXPECT_EQ(value.image().colorspace(), 3);
  EXPECT_EQ(value.image().encoded_image_string(), png);
}

TEST(EventFile, WhatIsNoPngIsRefused) {
  const std::string size = "\0\0\0\x02\0\0\0\x02"s;
  const std::string good = png_header(size, 0);
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  for (const std::string& bad :
       {std::string(), std::string("GIF89a and something behind it"), good.substr(0, 25),
        png_header(size, 5), png_header(size, '\xff'), png_header("\0\0\0\0\0\0\0\x02"s, 0),
        png_header("\0\0\0\x02\xff\0\0\0"s, 0)}) {
    EXPECT_EQ(error_message([&] { events.image("digit", 0, bad); }),
              "the image 'digit' doesn't begin as a PNG file does; give all bytes of one");
  }
  EXPECT_EQ(events_of(events.path()).size(), 0U);
  events.image("digit", 0, good.substr(0, 26));
  EXPECT_EQ(events_of(events.path()).size(), 1U);
}

TEST(EventFile, ATextIsATensorOfTheTextPlugin) {
  const auto value = written_value(
      [](EventFileWriter& events) { events.text("notes", 7, "batches of **128** \\x41"); });
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(value.metadata().data_class(), events::DATA_CLASS_TENSOR);
  EXPECT_EQ(value.tensor().dtype(), events::DT_STRING);
  EXPECT_TRUE(value.tensor().has_tensor_shape());
  EXPECT_EQ(value.tensor().tensor_shape().dim_size(), 0);
  EXPECT_THAT(value.tensor().string_val(), testing::ElementsAre("batches of **128** \\x41"));
}

TEST(EventFile, BytesThatAreNoUtf8CanBeRead) {
  const auto value =
      written_value([](EventFileWriter& events) { events.text("a\xff", 7, "\xc3\xa4 \xc3"); });
  EXPECT_EQ(value.tag(), "a\\xff");
  EXPECT_EQ(value.tensor().string_val(0), "\xc3\xa4 \\xc3");
}

TEST(EventFile, AGraphHasItsNodesAndTheirShapes) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  const std::vector<EventNode> nodes = {
      {.name = "a/dense", .op = "dense", .device = "/device:TPU:0", .output = {32, 10}},
      {.name = "a/relu", .op = "relu", .inputs = {"a/dense", "a/dense"}}};
  events.graph(nodes);
  const std::vector<events::Event> all = events_of(events.path());
  ASSERT_EQ(all.size(), 1U);
  events::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(all[0].graph_def()));
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).name(), "a/dense");
  EXPECT_EQ(graph.node(0).op(), "dense");
  EXPECT_EQ(graph.node(0).device(), "/device:TPU:0");
  const auto& shapes = graph.node(0).attr().at("_output_shapes").list();
  ASSERT_EQ(shapes.shape_size(), 1);
  ASSERT_EQ(shapes.shape(0).dim_size(), 2);
  EXPECT_EQ(shapes.shape(0).dim(0).size(), 32);
  EXPECT_EQ(shapes.shape(0).dim(1).size(), 10);
  EXPECT_THAT(graph.node(1).input(), testing::ElementsAre("a/dense", "a/dense"));
}

TEST(EventFile, AGraphThatCannotBeDrawnIsRefused) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  const auto message = [&](const std::vector<EventNode>& nodes) {
    return error_message([&] { events.graph(nodes); });
  };
  EXPECT_EQ(message({{.name = "a"}, {.name = "a"}}),
            "a graph has two nodes named 'a'; give each node a name of its own");
  EXPECT_EQ(message({{.name = ""}}),
            "a graph has a node with the name ''; give each node a name of its own");
  EXPECT_EQ(message({{.name = "a", .inputs = {"b"}}}),
            "node 'a' of a graph reads 'b', which is no node of it");
  EXPECT_EQ(events_of(events.path()).size(), 0U);
}

TEST(EventFile, AFileThatGoesOnSaysFromWhichStep) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  events.start_at(300);
  const std::vector<events::Event> all = events_of(events.path());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].step(), 300);
  EXPECT_EQ(all[0].session_log().status(), events::SessionLog::START);
}

/// File names sort in order also within a second, whatever host and process number they contain.
TEST(EventFile, ANewFileComesBehindThoseThatAreThere) {
  const TemporaryFolder folder;
  std::vector<std::string> in_order;
  for (int i = 0; i < 12; ++i) in_order.push_back(EventFileWriter(folder.path()).path());
  EXPECT_EQ(event_files_in(folder.path()), in_order);
  // The clock of another machine was wrong.
  const std::string later = folder.file("events.out.tfevents.9000000000.zzz.99999.0");
  write_whole(later, "");
  const std::string behind = EventFileWriter(folder.path()).path();
  EXPECT_THAT(behind, testing::HasSubstr("tfevents.9000000001."));
  // Times in such names don't count.
  for (const char* const name : {"events.out.tfevents.99999999999999999999.a", "other.9100000000",
                                 "events.out.tfevents.-5.a", "events.out.tfevents."}) {
    write_whole(folder.file(name), "");
  }
  EXPECT_THAT(EventFileWriter(folder.path()).path(), testing::HasSubstr("tfevents.9000000002."));
}

TEST(EventFile, TwoWritersNeverShareAFile) {
  const TemporaryFolder folder;
  EventFileWriter first(folder.path()), second(folder.path());
  EXPECT_NE(first.path(), second.path());
  EventFileWriter moved(std::move(first));
  moved.scalar("a", 0, 1);
  EXPECT_EQ(records_of(moved.path()).size(), 2u);
}

TEST(EventFile, AFolderThatCannotBeMadeSaysSo) {
  const TemporaryFolder folder;
  write_whole(folder.file("taken"), "a file");
  const Error error = error_of([&] { EventFileWriter(folder.file("taken/logs")); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.file(), folder.file("taken/logs"));
  EXPECT_THAT(error.message(),
              testing::StartsWith("cannot make the folder: a part of the path is a file"));
}

/// While it lives, no file of this process grows beyond so many bytes: write() writes up to that
/// size, then fails, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

TEST(EventFile, AFailedCallLeavesNothingAndLaterOnesCanBeRead) {
  const TemporaryFolder folder;
  EventFileWriter events(folder.path());
  events.scalar("before", 1, 0.5);
  const std::uintmax_t length = std::filesystem::file_size(events.path());
  for (const std::uintmax_t room : {0U, 1U, 12U, 40U}) {
    const FileSizeLimit limit(length + room);
    EXPECT_THAT(error_message([&] { events.text("lost", 2, std::string(90, 'x')); }),
                testing::StartsWith("cannot write: the file would be larger than is allowed"));
    EXPECT_EQ(std::filesystem::file_size(events.path()), length) << room;
  }
  events.scalar("behind", 3, 0.25);
  EXPECT_THAT(tags_of(events_of(events.path())), testing::ElementsAre("before", "behind"));
}

}  // namespace
}  // namespace infeed
