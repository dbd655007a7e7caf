#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the parsers of Examples share; not meant to be used directly.
namespace infeed::detail {

/// Names that somebody wants, found again among those of a record. Records are usually written
/// sorted, or at least all in one order, so the name behind the last one is compared first; only
/// when it is another one does a hash find it.
///
/// Thread-safety: once the names are there, any number of threads may find.
class NameTable {
 public:
  /// Returns its index. Throws invalid_argument when it is there: "`noun` 'x' is asked for twice".
  std::size_t add(std::string name, std::string_view noun);
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

  /// What find() is first given as `predicted`.
  std::size_t first() const { return first_; }
  /// Index of the name, or size() when nobody wants it. Not of an empty table.
  std::size_t find(std::string_view name, std::size_t& predicted) const {
    const std::size_t index = names_[predicted] == name ? predicted : find_by_hash(name);
    if (index != names_.size()) predicted = successors_[index];
    return index;
  }

 private:
  struct Slot {
    std::uint64_t hash;
    std::uint32_t index_plus_one;  // 0: free
  };
  std::uint64_t hash(std::string_view name) const;
  void put(std::size_t index);
  std::size_t find_by_hash(std::string_view name) const;

  std::vector<std::string> names_;
  std::vector<std::uint32_t> successors_;  // by name: what a sorted record has next
  std::uint32_t first_ = 0;
  std::vector<Slot> table_;
  /// 0: names are hashed by their ends, which is quick. Names that were made to collide so are hashed
  /// whole, with this key, which nobody who writes them can know.
  std::uint64_t key_ = 0;
};

}  // namespace infeed::detail
