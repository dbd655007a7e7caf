#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <infeed/device/event_file.h>

#include "device/train/small_training.h"

// Event files for the Python tests to read with tensorboard.
//
//   infeed_events write FOLDER              the lines of the standard input, a JSON object an event
//   infeed_events train FOLDER KILLED_AT    a training with its curves in FOLDER/logs, which goes on from
//                                           FOLDER/checkpoints and kills itself at this step; 0: doesn't
namespace {

using namespace infeed;
using Json = nlohmann::json;

/// JSON has neither NaN nor infinity.
float value_of(const Json& json) {
  return json.is_string() ? std::stof(json.get<std::string>()) : json.get<float>();
}

std::string bytes_of(const Json& json) {
  std::string bytes;
  for (const Json& byte : json) bytes.push_back(static_cast<char>(byte.get<int>()));
  return bytes;
}

void write_graph(EventFileWriter& events, const Json& json) {
  std::vector<EventNode> nodes;
  for (const Json& node : json) {
    const auto extents = node.at("output").get<std::vector<std::int64_t>>();
    nodes.push_back({.name = node.at("name"),
                     .op = node.at("op"),
                     .inputs = node.at("inputs"),
                     .device = node.at("device"),
                     .output = Shape(extents)});
  }
  events.graph(nodes);
}

void write_event(EventFileWriter& events, const Json& json) {
  const auto tag = json.value("tag", std::string());
  const auto step = json.value("step", std::int64_t{0});
  const auto kind = json.at("kind").get<std::string>();
  const Json& what = json.at("what");
  if (kind == "start") {
    events.start_at(step);
  } else if (kind == "scalar") {
    events.scalar(tag, step, value_of(what));
  } else if (kind == "histogram") {
    std::vector<float> values;
    for (const Json& value : what) values.push_back(value_of(value));
    std::cout << events.histogram(tag, step, values) << '\n';
  } else if (kind == "image") {
    events.image(tag, step, bytes_of(what));
  } else if (kind == "text") {
    events.text(tag, step, what.get<std::string>());
  } else {
    write_graph(events, what);
  }
}

void write(const std::string& folder) {
  EventFileWriter events(folder);
  for (std::string line; std::getline(std::cin, line);) write_event(events, Json::parse(line));
}

void train(const std::string& folder, std::int64_t killed_at) {
  SmallTraining small;
  fit(small.training(), Slice::parse("v3-8"),
      from_columns(points(160), 16) | shuffle({.buffer = 4, .seed = 3}),
      {.epochs = 4,
       .validation = from_columns(points(40, 2), 16),
       .resume_from = folder + "/checkpoints",
       .callbacks =
           {std::make_shared<TensorBoard>(TensorBoardOptions{
                .folder = folder + "/logs", .every_steps = 2, .histograms_every_epochs = 1}),
            std::make_shared<SaveCheckpoints>(
                SaveCheckpointsOptions{.folder = folder + "/checkpoints", .every_steps = 16})},
       .on_step = [&](std::int64_t step, const Metrics&) {
         if (step == killed_at) std::raise(SIGKILL);
       }});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "write") {
      write(arguments[1]);
    } else if (arguments.size() == 3 && arguments[0] == "train") {
      train(arguments[1], std::stoll(arguments[2]));
    } else {
      std::fputs("usage: infeed_events write FOLDER | train FOLDER KILLED_AT\n", stderr);
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_events: %s\n", error.what());
    return 1;
  }
  return 0;
}
