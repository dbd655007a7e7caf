#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>

/// Kinds of elements that every stage must carry. Each stands for an integer: make_element<T>(7),
/// value_of(element) == 7, show(element) == "7". So a stage's result doesn't depend on the type,
/// and one list of texts is expected for all.
namespace infeed::test {

/// 64 bytes, moved by memcpy.
struct Wide {
  std::int64_t value;
  std::array<std::int64_t, 7> rest;
};
static_assert(sizeof(Wide) == 64);

/// Can be copied, and notices a wrongly aligned address.
class alignas(128) OverAligned {
 public:
  explicit OverAligned(std::int64_t value) : value_(value) { look(); }
  OverAligned(const OverAligned& other) : value_(other.value_) { look(); }
  OverAligned(OverAligned&& other) noexcept : value_(other.value_) { look(); }
  OverAligned& operator=(const OverAligned&) = default;
  ~OverAligned() { look(); }

  std::int64_t value() const { return value_; }

 private:
  void look() const noexcept {
    if (reinterpret_cast<std::uintptr_t>(this) % alignof(OverAligned) != 0) {
      ADD_FAILURE() << "an OverAligned lies at " << this;
    }
  }
  std::int64_t value_;
};

/// Over-aligned; can only be moved, and only by its move constructor; counts its objects.
class alignas(128) Tracked {
 public:
  explicit Tracked(std::int64_t value) : value_(value), self_(this) { ++live; }
  Tracked(Tracked&& other) noexcept : value_(std::exchange(other.value_, -1)), self_(this) {
    other.look();
    ++live;
  }
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() {
    look();
    self_ = nullptr;
    --live;
  }

  std::int64_t value() const { return value_; }
  static inline std::atomic<std::int64_t> live{0};

 private:
  void look() const noexcept {
    if (self_ != this) ADD_FAILURE() << "a Tracked was moved by memcpy, or destroyed twice";
    if (reinterpret_cast<std::uintptr_t>(this) % alignof(Tracked) != 0) {
      ADD_FAILURE() << "a Tracked lies at " << this;
    }
  }
  std::int64_t value_;
  const Tracked* self_;
};

template <class T>
T make_element(std::int64_t value) {
  if constexpr (std::is_same_v<T, std::string>) {
    // Long enough to own memory.
    return fmt::format("{:>40}", value);
  } else if constexpr (std::is_same_v<T, Wide>) {
    return Wide{value, {value, value, value, value, value, value, -value}};
  } else if constexpr (std::is_same_v<T, std::unique_ptr<std::int64_t>>) {
    return std::make_unique<std::int64_t>(value);
  } else {
    return T(value);
  }
}

inline std::int64_t value_of(std::int64_t element) { return element; }
inline std::int64_t value_of(const std::string& element) { return std::stoll(element); }
inline std::int64_t value_of(const OverAligned& element) { return element.value(); }
inline std::int64_t value_of(const Tracked& element) { return element.value(); }
inline std::int64_t value_of(const std::unique_ptr<std::int64_t>& element) { return *element; }
inline std::int64_t value_of(const Wide& element) {
  EXPECT_EQ(element.rest[6], -element.value) << "a Wide was torn";
  return element.value;
}

template <class T>
std::string show(const T& element);
template <class T>
std::string show(const std::vector<T>& elements);
template <class A, class B>
std::string show(const std::pair<A, B>& element) {
  return "(" + show(element.first) + ", " + show(element.second) + ")";
}
template <class T>
std::string show(const Batch<T>& batch) {
  std::string text = "[";
  const auto add = [&text](const std::string& row) { text += (text.size() == 1 ? "" : " ") + row; };
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if constexpr (Batch<T>::kColumns == 1) {
      add(show(batch[i]));
    } else if constexpr (std::is_same_v<T, Wide>) {
      add(show(batch.row(i)));
    } else {
      add("(" + show(batch.template column<0>()[i]) + ", " + show(batch.template column<1>()[i]) +
          ")");
    }
  }
  return text + "]";
}
template <class T>
std::string show(const std::vector<T>& elements) {
  std::string text = "{";
  for (const T& element : elements) text += (text.size() == 1 ? "" : " ") + show(element);
  return text + "}";
}
template <class T>
std::string show(const T& element) {
  return std::to_string(value_of(element));
}

}  // namespace infeed::test
