#include "dataset/size_histogram.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace infeed::tools {

void SizeHistogram::add(std::size_t bytes) {
  bytes_min_ = records_ == 0 ? bytes : std::min<std::uint64_t>(bytes_min_, bytes);
  bytes_max_ = std::max<std::uint64_t>(bytes_max_, bytes);
  ++records_;
  ++counts_.at(static_cast<std::size_t>(std::bit_width(std::uint64_t{bytes})));
}

std::vector<SizeHistogram::Bucket> SizeHistogram::buckets() const {
  std::vector<Bucket> result;
  for (std::size_t bits = 0; bits < counts_.size(); ++bits) {
    const std::uint64_t from = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
    const std::uint64_t to = bits == 0 ? 0 : from + (from - 1);
    if (counts_.at(bits) > 0 || !result.empty()) result.push_back({from, to, counts_.at(bits)});
  }
  while (!result.empty() && result.back().records == 0) result.pop_back();
  return result;
}

void SizeHistogram::print(Terminal& terminal) const {
  if (records_ == 0) return;
  terminal.line(
      terminal.paint(Paint::bold, fmt::format("\n  records of {} to {} bytes",
                                              with_commas(static_cast<std::int64_t>(bytes_min_)),
                                              with_commas(static_cast<std::int64_t>(bytes_max_)))));
  const auto all = buckets();
  std::uint64_t most = 0;
  for (const Bucket& bucket : all) most = std::max(most, bucket.records);
  for (const Bucket& bucket : all) {
    const double share = static_cast<double>(bucket.records) / static_cast<double>(most);
    terminal.line(fmt::format("  {:>22} {} {}", fmt::format("{} to {}", bucket.from, bucket.to),
                              terminal.bar(share, 30),
                              with_commas(static_cast<std::int64_t>(bucket.records))));
  }
}

nlohmann::json SizeHistogram::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Bucket& bucket : buckets()) {
    list.push_back({{"from", bucket.from}, {"to", bucket.to}, {"records", bucket.records}});
  }
  return {{"bytes_min", bytes_min_}, {"bytes_max", bytes_max_}, {"buckets", list}};
}

}  // namespace infeed::tools
