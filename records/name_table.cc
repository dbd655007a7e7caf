#include "infeed/records/name_table.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "framing.h"
#include "infeed/error.h"

namespace infeed::detail {
namespace {

/// Reads both ends of a name: names of one dataset rarely agree in length and in both ends.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (name.size() >= 8) {
    first = load_little<std::uint64_t>(name.data());
    last = load_little<std::uint64_t>(name.data() + name.size() - 8);
  } else if (name.size() >= 4) {
    first = load_little<std::uint32_t>(name.data());
    last = load_little<std::uint32_t>(name.data() + name.size() - 4);
  } else {
    for (const char c : name) first = first << 8 | static_cast<unsigned char>(c);
  }
  std::uint64_t hash = (first + name.size()) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 32) ^ last) * 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 32);
}

}  // namespace

std::size_t NameTable::add(std::string name, std::string_view noun) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} '{}' is asked for twice", noun, name));
  }
  names_.push_back(std::move(name));
  std::vector<std::uint32_t> sorted(names_.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(),
            [this](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
  first_ = sorted.front();
  successors_.assign(names_.size(), 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    successors_[sorted[i]] = sorted[(i + 1) % sorted.size()];
  }
  table_.assign(std::bit_ceil(names_.size() * 4), Slot{0, 0});
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::uint64_t hash = hash_name(names_[i]);
    std::size_t at = hash & (table_.size() - 1);
    while (table_[at].index_plus_one != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = {hash, static_cast<std::uint32_t>(i + 1)};
  }
  return names_.size() - 1;
}

std::size_t NameTable::find_by_hash(std::string_view name) const {
  const std::uint64_t hash = hash_name(name);
  for (std::size_t at = hash & (table_.size() - 1); table_[at].index_plus_one != 0;
       at = (at + 1) & (table_.size() - 1)) {
    const std::size_t index = table_[at].index_plus_one - 1;
    if (table_[at].hash == hash && names_[index] == name) return index;
  }
  return names_.size();
}

}  // namespace infeed::detail
