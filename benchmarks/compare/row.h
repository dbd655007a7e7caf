#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Why: a row of the comparison is one figure of ours, measured by one run of this program. The
/// driver (compare.py) runs it in turn with the peer's, so that both see the same machine, and
/// takes medians. rows.py holds the row's peer, unit and bar under the same name.
namespace infeed::compare {

struct RunOptions {
  std::filesystem::path data;     ///< folder with the record files, which the peer reads, too
  double measure_seconds = 0.25;  ///< about how long one repetition takes
  /// For rows in ns an element: their number; 0: as many as fit the time. Two runs of a row whose
  /// cost depends on the number (unique) are comparable with the same one.
  std::int64_t elements = 0;
  /// For rows in ns an element: the file of a recording. The row is then measured by turns without
  /// and with it, and "other" is the cost of an element with it.
  std::filesystem::path recording = {};
};

struct Measurement {
  double ours;
  /// For rows that are compared with other code in this program (two serial loops, memcpy).
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
std::vector<Row> python_rows();

}  // namespace infeed::compare
