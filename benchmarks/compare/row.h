#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Why: a row of the comparison is one figure of ours, measured by one run of this program. The
/// driver (compare.py) runs it in turn with the peer's, so that both see the same machine, and
/// takes medians. What a row is compared with, its unit and its bar stand in rows.py under the same
/// name.
namespace infeed::compare {

struct RunOptions {
  std::filesystem::path data;  ///< folder with the record files, the same ones that the peer reads
  double measure_seconds = 0.25;  ///< about how long one repetition takes
  /// Of rows in ns an element; 0: as many as those seconds take. Two runs of a row whose cost depends
  /// on how many there are (unique) are comparable with the same number.
  std::int64_t elements = 0;
  /// Of rows in ns an element: where a recording goes. They are then measured by turns without and
  /// with it, and their "other" is what an element costs with it.
  std::filesystem::path recording = {};
};

struct Measurement {
  double ours;
  /// For rows that are compared with something in this program (two serial loops, memcpy).
  std::optional<double> other = std::nullopt;
};

struct Row {
  std::string name;
  std::function<Measurement(const RunOptions&)> measure;
};

std::vector<Row> main_rows();
std::vector<Row> engine_rows();
std::vector<Row> thread_rows();
std::vector<Row> records_rows();
std::vector<Row> convert_rows();
std::vector<Row> image_rows();
std::vector<Row> text_rows();
std::vector<Row> pack_rows();
std::vector<Row> device_rows();

}  // namespace infeed::compare
