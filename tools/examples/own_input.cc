#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/convert/command.h>
#include <infeed/error.h>

/// A program that converts its own format, with all that `infeed convert` can do:
///
///     own_input convert 'temperatures/*.log' -o shards --shards 4 --seed 1
///
/// In CMake: target_link_libraries(own_input PRIVATE infeed::convert). The format: a file for each
/// station, a line of numbers for each day.
namespace {

struct Day {
  std::string station;
  std::vector<float> temperatures;
};

Day parse_day(const std::string& station, const std::string& line) {
  Day day{station, {}};
  std::size_t at = 0;
  while (at < line.size()) {
    std::size_t used = 0;
    try {
      day.temperatures.push_back(std::stof(line.substr(at), &used));
    } catch (const std::exception&) {
      // One bad example: --quarantine-max leaves it out.
      throw infeed::Error(infeed::ErrorCode::data_loss,
                          "'" + line.substr(at, 20) + "' is no temperature");
    }
    at += used;
  }
  return day;
}

class Temperatures final : public infeed::ExampleInput {
 public:
  explicit Temperatures(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      files_.push_back(infeed::examine_input_file(name));
      std::ifstream in(name);
      const std::string station = std::filesystem::path(name).stem().string();
      for (std::string line; std::getline(in, line);) days_.emplace_back(station, line);
    }
  }

  std::uint64_t size() const override { return days_.size(); }
  std::unique_ptr<infeed::ExampleReader> open_reader() const override;
  std::vector<std::string> columns() const override { return {"station", "temperatures"}; }
  std::string describe() const override { return std::to_string(size()) + " days"; }
  std::string name_of(std::uint64_t index) const override {
    return days_[index].first + "#" + std::to_string(index);
  }
  std::vector<infeed::InputFile> files() const override { return files_; }

  const std::pair<std::string, std::string>& line(std::uint64_t index) const {
    return days_[index];
  }

 private:
  std::vector<infeed::InputFile> files_;
  std::vector<std::pair<std::string, std::string>> days_;  // station, line
};

/// Each thread has one; a reader of large files would keep its open file and buffer here.
class TemperaturesReader final : public infeed::FeatureReader {
 public:
  explicit TemperaturesReader(const Temperatures& input) : input_(input) {}

 private:
  void add_features(std::uint64_t index, infeed::ExampleBuilder& builder) override {
    const auto& [station, line] = input_.line(index);
    const Day day = parse_day(station, line);
    builder.bytes("station", day.station).floats("temperatures", day.temperatures);
  }

  const Temperatures& input_;
};

std::unique_ptr<infeed::ExampleReader> Temperatures::open_reader() const {
  return std::make_unique<TemperaturesReader>(*this);
}

std::unique_ptr<infeed::ExampleInput> open_temperatures(const std::vector<std::string>& names) {
  return std::make_unique<Temperatures>(names);
}

}  // namespace

int main(int argc, char** argv) {
  return infeed::run_command(
      argc, argv, {{.name = "temperatures", .name_ends = {".log"}, .open = open_temperatures}});
}
