#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cli/terminal.h"

namespace infeed::tools {

/// Counts records by size, in powers of two.
class SizeHistogram {
 public:
  void add(std::size_t bytes);
  void print(Terminal& terminal) const;
  /// {"bytes_min", "bytes_max", "buckets": [{"from", "to", "records"}]}
  nlohmann::json to_json() const;

 private:
  struct Bucket {
    std::uint64_t from;
    std::uint64_t to;  ///< included
    std::uint64_t records;
  };
  /// Returns the buckets from the first to the last one with records.
  std::vector<Bucket> buckets() const;

  std::array<std::uint64_t, 65> counts_{};  // by the number of bits of the size
  std::uint64_t bytes_min_ = 0;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace infeed::tools
