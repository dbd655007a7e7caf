#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Parts that the parsers of Examples share. Not meant to be used directly.
namespace infeed::detail {

/// Wanted names, which are looked up among those of a record. Records are usually written sorted,
/// or at least all in one order, so the name that should come next is compared first. Only if it
/// differs a hash finds the name.
///
/// Thread-safety: once all names are added, any number of threads may find.
class NameTable {
 public:
  /// Adds a name and returns its index. Throws invalid_argument for a name added before: "`noun`
  /// 'x' is given twice". After any exception the table is as it was before.
  std::size_t add(std::string name, std::string_view noun);
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  /// Bytes of the memory that the table keeps beside itself.
  std::size_t memory_bytes() const;

  /// First value of `predicted` for find().
  std::size_t first() const { return first_; }
  /// Returns the index of the name, or size() when nobody wants it. The table must not be empty.
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
  void make_room_for_one();
  void put(std::size_t index);
  std::size_t find_by_hash(std::string_view name) const;

  std::vector<std::string> names_;
  std::vector<std::uint32_t> successors_;  // by name: the next name in a sorted record
  std::uint32_t first_ = 0;
  std::vector<Slot> table_;
  /// Key of the hash; 0: names are hashed by their ends, which is quick. Names made to collide that
  /// way are hashed whole, with this key, which their author can't know.
  std::uint64_t key_ = 0;
};

}  // namespace infeed::detail
