#pragma once

// Types, datasets and functions that the examples of the public headers use without declaring them.
// They are only compiled, never linked or run, so nothing here needs a definition.
#include <array>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/convert/example_input.h>
#include <infeed/device/callbacks.h>
#include <infeed/device/depthwise.h>
#include <infeed/device/device_batch.h>
#include <infeed/device/fit.h>
#include <infeed/device/input_signature.h>
#include <infeed/device/layers.h>
#include <infeed/device/losses.h>
#include <infeed/device/models.h>
#include <infeed/device/operations.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/paced.h>
#include <infeed/device/service_times.h>
#include <infeed/device/slice.h>
#include <infeed/device/split_dense.h>
#include <infeed/device/split_workload.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_validation.h>
#include <infeed/device/strategy.h>
#include <infeed/device/variable_state.h>
#include <infeed/device/virtual_run.h>
#include <infeed/device/worker_logs.h>
#include <infeed/image/decode.h>
#include <infeed/image/header.h>
#include <infeed/image/normalise.h>
#include <infeed/image/resize.h>
#include <infeed/image/resized_crop.h>
#include <infeed/infeed.h>
#include <infeed/keep_rows.h>
#include <infeed/records/file_sum.h>
#include <infeed/share.h>

/// A class as protoc would generate it.
namespace shop {

class Click {
 public:
  std::int64_t user_id() const;
  bool ParsePartialFromArray(const void* bytes, int size);
  bool AppendPartialToString(std::string* out) const;
  bool IsInitialized() const;
  std::string InitializationErrorString() const;
  std::string GetTypeName() const;
  std::size_t ByteSizeLong() const;
};

}  // namespace shop

// The examples' namespaces lie inside of this one, so that its names hide those of the C library
// (read, log, connect).
namespace examples {

struct Sample {
  std::array<float, 784> image;
  std::int64_t label;
  std::vector<std::string> tags;
  std::vector<std::vector<float>> rows;
};

struct Sentence {
  std::vector<std::int32_t> tokens;
  std::int64_t label;
};

/// A class with hidden fields, for which people specialise codecs.
class Image {
 public:
  static Image from_png(std::string_view png);
  std::string to_png() const;
  std::size_t pixels_bytes() const;

 private:
  std::vector<float> pixels_;
};

struct Request {
  std::int64_t user;
};

struct Session {
  Session(std::int64_t user, std::vector<Request> requests);
};

struct Message {
  std::string text;
};

struct Socket {
  int descriptor;
};

struct Queue {
  void stop();
};

struct Manifest {
  void add(const std::string& name, const infeed::FileSum& sum);
  infeed::FileSum sum(const std::string& name) const;
};

/// An object, so that map(decode) isn't ambiguous.
struct Decode {
  std::array<float, 784> operator()(const Sample& sample) const;
  std::array<float, 784> operator()(const Image& image) const;
  void operator()(const infeed::Record& record, std::array<float, 784>& image) const;
};

template <class... Values>
void use(const Values&... values);
void log(const char* message);

extern const Decode decode;
Image crop(const Image& image, std::uint64_t edge);
std::vector<Image> normalise_all(const infeed::Batch<Image>& images);
std::int64_t label_of(const infeed::Record& record);
Sample read_sample(std::int64_t index);
infeed::Dataset<std::string> read_lines(const std::string& file);
infeed::Dataset<Sample> read(const std::string& file);
Socket connect();
std::optional<Message> receive(Socket& socket);
std::vector<Sample> load();
infeed::Dataset<std::int64_t> my_dataset();
std::unique_ptr<infeed::ExampleInput> open_shapes(const std::vector<std::string>& names);

extern const infeed::ExampleSchema<Sample> schema;
extern infeed::Dataset<Sample> dataset, clean, noisy, a, b, c;
extern infeed::Dataset<infeed::Record> records;
extern infeed::Dataset<Sentence> sentences;
extern infeed::Dataset<Request> requests;
extern infeed::Dataset<Image> images;
extern infeed::Dataset<std::int64_t> labels, numbers;
extern infeed::Dataset<double> losses;
extern infeed::Dataset<std::string> files, words;

extern std::vector<Sample> samples;
extern std::vector<std::string> names, jpegs;
extern std::span<char> buffer;
extern std::string name, pixels, optimiser_bytes;
extern infeed::Tensor weights;
extern infeed::Record record;
extern infeed::Checkpoint checkpoint;
extern Manifest manifest;
extern const std::uint64_t hosts, host;
extern const infeed::World world;
extern const std::unique_ptr<infeed::Communicator> ranks;
extern const std::shared_ptr<infeed::KeptRows> kept;
extern const infeed::RowShare own;

extern infeed::Slice slice;
extern infeed::BatchSource source;
extern infeed::Training training;
extern infeed::DeviceBatch batch;
extern infeed::Dataset<infeed::ColumnBatch> column_batches;
extern infeed::ColumnBatch columns;
extern infeed::ColumnSchema column_schema;
extern infeed::Strategy& strategy;
extern infeed::ReplicaFunction forward;
extern infeed::nn::Adam& adam;
extern std::vector<infeed::StepEvent> events_of_one_step;
extern std::stop_token stop;
extern std::int64_t epoch;

}  // namespace examples
