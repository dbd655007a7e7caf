#include "infeed/records/detail/name_table.h"

#include <bit>
#include <fmt/format.h>
#include <random>
#include <utility>

#include "infeed/error.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

/// Most names that one name may find in its way. A name that finds more was made to collide: with a
/// quarter of the slots taken, an honest name finds more than a dozen in less than one of a million
/// tables.
constexpr std::size_t kProbesMax = 64;

/// Hashes all bytes of a name with a key: each word goes through a multiplication whose halves are
/// mixed.
std::uint64_t keyed_hash(std::string_view name, std::uint64_t key) {
  __extension__ using Wide = unsigned __int128;
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = mix(key ^ 0x9e3779b97f4a7c15U, name.size() ^ 0xd6e8feb86659fd93U);
  for (; name.size() >= 8; name.remove_prefix(8)) {
    hash = mix(hash ^ load_little<std::uint64_t>(name.data()), key | 1);
  }
  std::uint64_t rest = 0;
  for (const char c : name) rest = rest << 8 | static_cast<unsigned char>(c);
  return mix(hash ^ rest, 0x9e3779b97f4a7c15U);
}

/// Returns a key that isn't 0.
std::uint64_t random_key() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

/// Hashes both ends of a name: names of one dataset rarely agree in length and in both ends.
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

/// Puts the last name into the ring of successors: sorted as long as that is cheap, else at the
/// end.
void add_successor(const std::vector<std::string>& names, std::vector<std::uint32_t>& successors,
                   std::uint32_t& first) {
  constexpr std::uint32_t kSortedMax = 256;
  const auto added = static_cast<std::uint32_t>(names.size() - 1);
  successors.push_back(first);
  if (added == 0) return;
  std::uint32_t before = added - 1;
  if (added <= kSortedMax) {
    const bool is_sorted = added < kSortedMax;
    const bool is_first = is_sorted && names[added] < names[first];
    for (before = first; successors[before] != first; before = successors[before]) {
      if (is_sorted && !is_first && !(names[successors[before]] < names[added])) break;
    }
    successors[added] = successors[before];
    if (is_first) first = added;
  }
  successors[before] = added;
}

}  // namespace

std::uint64_t NameTable::hash(std::string_view name) const {
  return key_ == 0 ? hash_name(name) : keyed_hash(name, key_);
}

void NameTable::put(std::size_t index) {
  const std::uint64_t hash = this->hash(names_[index]);
  std::size_t at = hash & (table_.size() - 1);
  std::size_t probes = 0;
  for (; table_[at].index_plus_one != 0; at = (at + 1) & (table_.size() - 1)) ++probes;
  table_[at] = {hash, static_cast<std::uint32_t>(index + 1)};
  if (probes <= kProbesMax || key_ != 0) return;
  key_ = random_key();
  table_.assign(table_.size(), Slot{0, 0});
  for (std::size_t i = 0; i <= index; ++i) put(i);
}

/// Takes the memory that one more name needs, so that adding it can't fail halfway: threads that
/// share a table go on with it while the one that ran out of memory ends.
void NameTable::make_room_for_one() {
  const std::size_t size = names_.size() + 1;
  if (size > names_.capacity()) names_.reserve(2 * size);
  if (size > successors_.capacity()) successors_.reserve(2 * size);
  if (4 * size <= table_.size()) return;
  table_.assign(std::bit_ceil(8 * size), Slot{0, 0});
  for (std::size_t i = 0; i < names_.size(); ++i) put(i);
}

/// A record can hold a million names, and somebody may want them all. So no step here takes longer
/// the more names there are, whatever they are.
std::size_t NameTable::add(std::string name, std::string_view noun) {
  const std::size_t before = names_.empty() ? 0 : find_by_hash(name);
  if (before != names_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{0} '{1}' is given twice, as {0}s {2} and {3} (from 0 on); leave one "
                            "out, or give it another name",
                            noun, name, before, names_.size()));
  }
  make_room_for_one();
  names_.push_back(std::move(name));
  add_successor(names_, successors_, first_);
  put(names_.size() - 1);
  return names_.size() - 1;
}

std::size_t NameTable::memory_bytes() const {
  constexpr std::size_t kAllocatorBytes = 16;
  std::size_t total = 3 * kAllocatorBytes + names_.capacity() * sizeof(std::string) +
                      successors_.capacity() * sizeof(std::uint32_t) +
                      table_.capacity() * sizeof(Slot);
  static const std::size_t kShortMax = std::string().capacity();
  for (const std::string& name : names_) {
    if (name.capacity() > kShortMax) total += name.capacity() + kAllocatorBytes;
  }
  return total;
}

std::size_t NameTable::find_by_hash(std::string_view name) const {
  const std::uint64_t hash = this->hash(name);
  for (std::size_t at = hash & (table_.size() - 1); table_[at].index_plus_one != 0;
       at = (at + 1) & (table_.size() - 1)) {
    const std::size_t index = table_[at].index_plus_one - 1;
    if (table_[at].hash == hash && names_[index] == name) return index;
  }
  return names_.size();
}

}  // namespace infeed::detail
