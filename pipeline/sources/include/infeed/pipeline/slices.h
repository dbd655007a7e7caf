#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/records/crc32c.h>

namespace infeed {

/// Gives the elements of a vector, in order. Each pass copies them out. All iterators share the
/// vector.
///
///     infeed::slices({1, 2, 3})
///     infeed::slices(std::move(samples))            // a std::vector<Sample>
///     infeed::slices(std::make_shared<const std::vector<Sample>>(load()))
///
/// from_memory() gives values that lie anywhere, for example in a mapped file. The owner is kept
/// until the last iterator is gone. The values must not change as long.
///
///     const auto owner = std::make_shared<const std::vector<int>>(1000);
///     infeed::from_memory(std::span<const int>(*owner).subspan(10), owner)
///
/// Skipping costs nothing. If a copy throws, the exception is an error in that element's place.
/// Describing the source reads numbers, plain structs and strings once, since a checkpoint is bound
/// to them.
template <class T>
Dataset<T> slices(std::shared_ptr<const std::vector<T>> values, StageOptions options = {});
template <class T>
Dataset<T> slices(std::vector<T> values, StageOptions options = {});
template <class T>
Dataset<T> slices(std::initializer_list<T> values, StageOptions options = {});
/// `owner` may be null for values that live as long as the program.
template <class T>
Dataset<T> from_memory(std::span<const T> values, std::shared_ptr<const void> owner,
                       StageOptions options = {});

// Only the library reads what follows.
namespace detail {

struct SlicesSpec {
  std::string name;
  std::string signature;
  const TypeInfo* type;
  std::shared_ptr<const void> values;  ///< the first value
  std::size_t count;
  /// Returns the file's name for a value that is one. Empty if the values aren't names of files.
  std::function<std::string(std::size_t index)> file_of = {};
};

NodePointer make_slices(SlicesSpec spec);
std::string slices_signature(std::size_t count, std::uint32_t fingerprint);

/// Returns a hash of the values, if their type can be hashed. A checkpoint is bound to it.
template <class T>
std::uint32_t fingerprint_of(const T* values, std::size_t count) {
  std::uint32_t crc = 0;
  if constexpr (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>) {
    crc = extend_crc32c(crc, {reinterpret_cast<const char*>(values), count * sizeof(T)});
  } else if constexpr (std::is_same_v<T, std::string>) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = values[i].size();
      crc = extend_crc32c(crc, {reinterpret_cast<const char*>(&size), sizeof(size)});
      crc = extend_crc32c(crc, values[i]);
    }
  }
  return crc;
}

template <class T>
Dataset<T> slices_of(std::shared_ptr<const T> values, std::size_t count,
                     const StageOptions& options) {
  static_assert(std::is_copy_constructible_v<T>,
                "infeed::slices: each pass copies the elements out, so they must be copyable; for "
                "a type that can't be copied use infeed::generate");
  std::string signature = slices_signature(count, fingerprint_of(values.get(), count));
  return Dataset<T>(named(
      make_slices({"slices", std::move(signature), &type_info<T>(), std::move(values), count}),
      options.name));
}

}  // namespace detail

template <class T>
Dataset<T> slices(std::shared_ptr<const std::vector<T>> values, StageOptions options) {
  const std::size_t count = values->size();
  if constexpr (std::is_same_v<T, bool>) {
    const std::shared_ptr<bool[]> flags(new bool[count]);  // a vector of bool has no bool objects
    for (std::size_t i = 0; i < count; ++i) flags[i] = (*values)[i];
    return detail::slices_of<bool>(std::shared_ptr<const bool>(flags, flags.get()), count, options);
  } else {
    const T* const first = values->data();
    return detail::slices_of<T>(std::shared_ptr<const T>(std::move(values), first), count, options);
  }
}

template <class T>
Dataset<T> slices(std::vector<T> values, StageOptions options) {
  return slices(std::make_shared<const std::vector<T>>(std::move(values)), std::move(options));
}

template <class T>
Dataset<T> slices(std::initializer_list<T> values, StageOptions options) {
  return slices(std::vector<T>(values), std::move(options));
}

template <class T>
Dataset<T> from_memory(std::span<const T> values, std::shared_ptr<const void> owner,
                       StageOptions options) {
  return detail::slices_of<T>(std::shared_ptr<const T>(std::move(owner), values.data()),
                              values.size(), options);
}

}  // namespace infeed
