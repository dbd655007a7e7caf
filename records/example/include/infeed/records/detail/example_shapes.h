#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace infeed {

enum class FeatureKind : std::uint8_t;

}

namespace infeed::detail {

/// True if `size` bytes at both places are the same. Quicker than a call for the few bytes of a
/// name.
[[gnu::always_inline]] inline bool is_same_text(const char* a, const char* b, std::size_t size) {
  const auto differ = [a, b](std::size_t at, auto word) {
    auto other = word;
    std::memcpy(&word, a + at, sizeof(word));
    std::memcpy(&other, b + at, sizeof(word));
    return word ^ other;
  };
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size >= kWord) {
    std::uint64_t difference = differ(size - kWord, std::uint64_t{0});
    for (std::size_t i = 0; i + kWord < size; i += kWord) difference |= differ(i, std::uint64_t{0});
    return difference == 0;
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Why: most records of a file differ only in their values: names, their order and the lengths of
/// lists are the same, and so are all bytes between the values. A shape knows these bytes and the
/// places of the lists. Comparing them takes 4 ns a feature; reading tags, lengths and names takes
/// 12.
///
/// Shapes are made from records in the usual form (usual_form.h), and never change once made.
class ExampleShape {
 public:
  explicit ExampleShape(std::string_view example)
      : example_bytes_(example.size()), example_(example.data()) {}

  std::size_t example_bytes() const { return example_bytes_; }

  // Called while the shape is made, front to back:
  /// Adds the list of wanted feature `index`.
  void add_list(std::size_t index, FeatureKind kind, std::string_view list);
  /// Adds a gap, which may hold any bytes of this size.
  void add_gap(std::string_view bytes);
  void end();

  bool is_same_as(const ExampleShape& other) const {
    return example_bytes_ == other.example_bytes_ && texts_ == other.texts_;
  }
  /// True if an example of example_bytes() has this shape.
  bool is_shape_of(std::string_view example) const {
    const char* text = texts_.data();
    for (const Piece& piece : pieces_) {
      if (!is_same_text(example.data() + piece.text_begin, text, piece.text_bytes)) return false;
      text += piece.text_bytes;
    }
    return true;
  }
  template <class Visit>
  bool visit(std::string_view example, Visit&& visit) const {
    for (const Piece& piece : pieces_) {
      if (piece.is_gap) continue;
      if (!visit(piece.index, piece.kind, example.substr(piece.begin, piece.bytes))) return false;
    }
    return true;
  }

 private:
  /// Text that is the same in all records, and the list or gap behind it.
  struct Piece {
    std::uint32_t text_begin;
    std::uint32_t text_bytes;
    std::uint32_t begin;
    std::uint32_t bytes;
    std::uint32_t index;
    FeatureKind kind;
    bool is_gap;
  };
  void add(Piece piece, std::string_view bytes);

  const std::size_t example_bytes_;
  const char* example_;  ///< null once the shape is made
  std::uint32_t end_ = 0;
  std::string texts_;  ///< texts of all pieces, one behind the other
  std::vector<Piece> pieces_;
};

/// The shapes of some records that a parser has met: the first ones whose size came twice in a row.
/// All other records are read without a shape.
///
/// Thread-safety: find() and learn() may be called by any threads at once.
class ExampleShapes {
 public:
  ExampleShapes() = default;
  ~ExampleShapes() { clear(); }
  // Shapes aren't copied: a copy learns them again.
  ExampleShapes(const ExampleShapes&) {}
  ExampleShapes& operator=(const ExampleShapes&) {
    clear();
    return *this;
  }

  /// Returns the shape of a record, or null.
  const ExampleShape* find(std::string_view example) const {
    for (const auto& slot : shapes_) {
      const ExampleShape* const shape = slot.load(std::memory_order_acquire);
      if (shape == nullptr) return nullptr;
      if (shape->example_bytes() != example.size()) continue;
      if (shape->is_shape_of(example)) return shape;
    }
    return nullptr;
  }
  /// True if a record without a known shape should be learnt.
  bool wants(std::string_view example) {
    if (shapes_.back().load(std::memory_order_relaxed) != nullptr) return false;
    if (example.size() > kExampleBytesMax) return false;
    const auto size = static_cast<std::uint32_t>(example.size());
    if (last_size_.load(std::memory_order_relaxed) == size) return true;
    last_size_.store(size, std::memory_order_relaxed);
    return false;
  }
  void learn(std::unique_ptr<const ExampleShape> shape);
  /// Forgets all shapes. No other thread may use them then.
  void clear();

 private:
  static constexpr std::size_t kShapesMax = 4;
  static constexpr std::size_t kExampleBytesMax = std::size_t{1} << 30;

  std::array<std::atomic<const ExampleShape*>, kShapesMax> shapes_{};  ///< null behind the last
  std::atomic<std::uint32_t> last_size_{0};
};

}  // namespace infeed::detail
