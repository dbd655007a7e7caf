#include "pipeline/drawn_whole/recorded_figures.h"

#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace infeed::test {
namespace {

using Json = nlohmann::json;

class RecordingReader {
 public:
  RecordedFigures read(const std::string& file) {
    std::ifstream lines(file);
    std::string line;
    std::uint64_t number = 0;
    try {
      while (std::getline(lines, line)) {
        if (lines.eof()) throw std::runtime_error("its last line has no end");
        read_line(Json::parse(line), number++);
      }
      if (!has_ended_) throw std::runtime_error("it has no end");
    } catch (const std::exception& error) {
      figures_.problem = fmt::format("line {}: {}: {}", number, error.what(), line);
    }
    return std::move(figures_);
  }

 private:
  void read_line(const Json& line, std::uint64_t number) {
    if ((number == 0) != line.contains("infeed_recording")) {
      throw std::runtime_error("the header is the first line, and no other one");
    }
    if (has_ended_) throw std::runtime_error("it stands behind the end");
    if (line.contains("stages")) read_stages(line.at("stages"));
    if (line.contains("window")) read_window(line.at("window"));
    if (line.contains("steps")) read_steps(line.at("steps"));
    if (line.contains("late_steps")) read_steps(line.at("late_steps"));
    for (const char* const call : {"slow", "outlier"}) {
      if (line.contains(call)) read_call(line.at(call));
    }
    if (!line.contains("end")) return;
    has_ended_ = true;
    figures_.why = line.at("end").at("why");
    figures_.dropped_events = line.at("end").at("dropped_events");
  }

  void read_stages(const Json& stages) {
    for (const Json& stage : stages) {
      const auto id = stage.at("id").get<std::size_t>();
      if (id >= paths_.size()) paths_.resize(id + 1);
      if (!paths_[id].empty() && paths_[id] != stage.at("path")) {
        throw std::runtime_error("the stage of an id changed");
      }
      paths_[id] = stage.at("path");
    }
  }

  void read_window(const Json& window) {
    const std::uint64_t begin_ns = window.at("begin_ns");
    if (begin_ns < windows_end_ns_) throw std::runtime_error("it begins within the one before");
    windows_end_ns_ = begin_ns + window.at("length_ns").get<std::uint64_t>();
    figures_.elements += window.at("elements").get<std::uint64_t>();
    for (const Json& row : window.at("stages")) {
      figures_.elements_by_path[paths_.at(row.at(0))] += row.at(1).get<std::uint64_t>();
    }
  }

  void read_steps(const Json& steps) {
    for (const Json& step : steps) figures_.step_elements += step.at(7).get<std::uint64_t>();
  }

  void read_call(const Json& call) {
    paths_.at(call.at("stage"));
    const std::uint64_t took_ns = call.at("took_ns");
    if (call.at("cpu_ns").get<std::uint64_t>() + call.at("preempted_ns").get<std::uint64_t>() >
        took_ns) {
      throw std::runtime_error("the parts of a call are longer than all of it");
    }
    if (!call.contains("file") && !call.contains("untraceable")) {
      throw std::runtime_error("a call has neither a file nor a reason why not");
    }
  }

  RecordedFigures figures_;
  std::vector<std::string> paths_;  ///< by stage
  std::uint64_t windows_end_ns_ = 0;
  bool has_ended_ = false;
};

}  // namespace

RecordedFigures read_recording(const std::string& file) { return RecordingReader().read(file); }

}  // namespace infeed::test
