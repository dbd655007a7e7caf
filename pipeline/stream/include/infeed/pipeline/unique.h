#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>

namespace infeed {

/// Gives each element only at its first occurrence in a pass. Errors are always handed on.
///
///     words | infeed::unique()
///
/// Memory: all different elements are remembered, each with 8 to 24 bytes besides its own size,
/// counted in the iterator's limit. Beyond the limit comes a terminal Error(resource_exhausted).
inline auto unique(StageOptions options = {});

// Only the library reads what follows.
namespace detail {

/// The values seen so far, behind an interface that doesn't know their type.
class SeenValues {
 public:
  virtual ~SeenValues() = default;
  /// Moves the new values of in[0..count) to `out` and destroys the others. Stops after a value
  /// that throws (its hash, comparison or copy), with `error` set.
  virtual KernelResult keep_new(void* in, void* out, std::size_t count, ErrorPointer& error) = 0;
  /// Bytes that it holds.
  virtual std::uint64_t bytes() const = 0;
  /// Returns an upper bound of bytes() after `count` more values, without the bytes they own.
  virtual std::uint64_t bytes_with(std::size_t count) const = 0;
};

/// Open addressing over indices into a vector: 8 bytes and a value each, at most half full.
template <class T>
class SeenValuesOf final : public SeenValues {
 public:
  KernelResult keep_new(void* in, void* out, std::size_t count, ErrorPointer& error) override {
    T* const input = static_cast<T*>(in);
    T* output = static_cast<T*>(out);
    T* const begin = output;
    std::size_t i = 0;
    try {
      if (2 * (values_.size() + count) > table_.size()) grow(values_.size() + count);
      std::array<std::uint64_t, kHashedAtOnce> hashes;
      for (; i < count; ++i) {
        if (i % kHashedAtOnce == 0) hash(input + i, std::min(kHashedAtOnce, count - i), hashes);
        if (add(input[i], hashes[i % kHashedAtOnce])) {
          ::new (static_cast<void*>(output)) T(std::move(input[i]));
          ++output;
        }
        input[i].~T();
      }
    } catch (...) {
      error = current_error();
      input[i].~T();
      ++i;
    }
    return {i, static_cast<std::size_t>(output - begin)};
  }

  std::uint64_t bytes() const override {
    return table_.capacity() * sizeof(Entry) + values_.capacity() * sizeof(T) + payload_bytes_;
  }
  std::uint64_t bytes_with(std::size_t count) const override {
    const std::size_t size = values_.size() + count;
    const std::size_t table = table_size_for(size);
    if (table == table_.size()) return bytes();
    // While it grows, the old table and values exist, too.
    return bytes() + table * (sizeof(Entry) + sizeof(T) / 2) + sizeof(T);
  }

 private:
  /// 1 + the index in values_ (0: free), and some bits of the hash, which save most comparisons.
  struct Entry {
    std::uint32_t index = 0;
    std::uint32_t hash = 0;
  };

  /// Values whose table entries are fetched together, so that they wait for memory only once. A hash
  /// that throws must do so at its own value.
  static constexpr std::size_t kHashedAtOnce =
      noexcept(std::hash<T>{}(std::declval<const T&>())) ? 16 : 1;

  void hash(const T* values, std::size_t count, std::array<std::uint64_t, kHashedAtOnce>& hashes) {
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(values[i]);
      __builtin_prefetch(&table_[hashes[i] & (table_.size() - 1)], 1);
    }
  }

  static std::uint64_t hash_of(const T& value) {
    // std::hash of a number is the number itself. After the multiplication the upper bits depend on
    // all of it.
    const std::uint64_t hash = std::hash<T>{}(value)*0x9E3779B97F4A7C15;
    return hash ^ (hash >> 32);
  }
  std::size_t table_size_for(std::size_t size) const {
    std::size_t entries = std::max<std::size_t>(table_.size(), 64);
    while (entries < 2 * size) entries *= 2;
    return entries;
  }

  void grow(std::size_t size) {
    std::vector<Entry> bigger(table_size_for(size));
    values_.reserve(bigger.size() / 2);
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      const std::uint64_t hash = hash_of(values_[i]);
      std::size_t at = hash & (bigger.size() - 1);
      while (bigger[at].index != 0) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = {i + 1, static_cast<std::uint32_t>(hash >> 32)};
    }
    table_.swap(bigger);
  }

  /// Adds the value. Returns false if it was there already.
  bool add(const T& value, std::uint64_t hash) {
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & (table_.size() - 1);
    for (; table_[at].index != 0; at = (at + 1) & (table_.size() - 1)) {
      if (table_[at].hash == tag && values_[table_[at].index - 1] == value) return false;
    }
    if (values_.size() == UINT32_MAX - 1) {
      throw Error(ErrorCode::resource_exhausted,
                  "unique: more than 4,294,967,294 different elements were seen; shard the input");
    }
    values_.push_back(value);
    payload_bytes_ += payload_bytes(values_.back());
    table_[at] = {static_cast<std::uint32_t>(values_.size()), tag};
    return true;
  }

  std::vector<Entry> table_;
  std::vector<T> values_;
  std::uint64_t payload_bytes_ = 0;
};

NodePointer make_unique_values(std::unique_ptr<SeenValues> (*make_seen)(), NodePointer input);

template <class T>
inline constexpr bool kIsHashable = requires(const T& value) {
  std::hash<T>{}(value);
  static_cast<bool>(value == value);
};

struct UniqueStageFactory {
  using ComposesAsStage = void;
  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    constexpr bool kCanBeRemembered = kIsHashable<Element> && kIsCopyable<Element>;
    static_assert(kCanBeRemembered,
                  "infeed::unique: the elements that were seen are remembered, so the dataset's "
                  "Element must be copyable and needs a std::hash and an operator==");
    if constexpr (kCanBeRemembered) {
      return Dataset<Element>(make_unique_values(
          []() -> std::unique_ptr<SeenValues> { return std::make_unique<SeenValuesOf<Element>>(); },
          input.node()));
    } else {
      return input;
    }
  }
};

}  // namespace detail

inline auto unique(StageOptions options) {
  return named_stage(options.name, detail::UniqueStageFactory{});
}

}  // namespace infeed
