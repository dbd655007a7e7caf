#include "convert/inputs/row_input.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::tools {
namespace {

/// The usual limit is 1024 descriptors for a process.
constexpr std::size_t kOpenFilesMax = 256;

}  // namespace

RowFiles::RowFiles(const std::vector<std::string>& files, TextFormat format, std::uint64_t skipped)
    : skipped_(skipped) {
  begins_.push_back(0);
  for (const std::string& file : files) {
    files_.push_back(examine_input_file(file));
    rows_.emplace_back(file, format);
    if (files.size() > kOpenFilesMax) rows_.back().close();
    format.rows = rows_.front().format();
    begins_.push_back(begins_.back() + std::max(rows_.back().size(), skipped) - skipped);
  }
}

RowFiles::Place RowFiles::place_of(std::uint64_t index) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), index);
  const auto file = static_cast<std::size_t>(after - begins_.begin() - 1);
  return {file, index - begins_[file] + skipped_};
}

std::string RowFiles::name_of(std::uint64_t index) const {
  const Place place = place_of(index);
  return fmt::format("{}#{}", input_file_name(rows_[place.file].file()), place.row - skipped_);
}

std::string RowFiles::location_of(std::uint64_t index) const {
  const Place place = place_of(index);
  const TextRows& file = rows_[place.file];
  return fmt::format("{} line {} (row {})", input_file_name(file.file()),
                     TextRowReader(file).line_of(place.row), place.row - skipped_ + 1);
}

std::vector<std::uint64_t> RowFiles::sample() const {
  constexpr std::uint64_t kFront = 1000;
  constexpr std::uint64_t kSpread = 1000;
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < std::min(size(), kFront); ++i) chosen.push_back(i);
  for (std::uint64_t i = 0; i < kSpread && size() > kFront; ++i) {
    chosen.push_back(kFront + (size() - kFront) / kSpread * i);
  }
  return chosen;
}

std::string_view RowFilesReader::read(std::uint64_t index) {
  const RowFiles::Place place = rows_.place_of(index);
  const TextRows& file = rows_.file(place.file);
  if (!reader_) reader_.emplace(file);
  reader_->turn_to(file);
  return reader_->read(place.row);
}

}  // namespace infeed::tools
