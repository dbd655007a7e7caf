#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "records/example/wire_writer.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed::test {

/// Draws Examples and SequenceExamples in all forms that protobuf allows, however odd.
class WildExamples {
 public:
  std::string draw() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(100) < 90 ? 1 : pick(3); i < n; ++i) {
      bytes += unknown() + bytes_field(1, features());
    }
    return bytes + unknown();
  }
  std::string draw_sequence() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(100) < 90 ? 1 : pick(3); i < n; ++i) {
      bytes += unknown() + bytes_field(1, features());
    }
    for (std::size_t i = 0, n = pick(100) < 90 ? 1 : pick(3); i < n; ++i) {
      bytes += unknown() + bytes_field(2, feature_lists());
    }
    return bytes + unknown();
  }
  std::string mutated(std::string bytes) {
    for (std::size_t i = 0, n = 1 + pick(3); i < n && !bytes.empty(); ++i) {
      const std::size_t at = pick(bytes.size());
      switch (pick(4)) {
        case 0:
          bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          bytes.erase(at, 1 + pick(4));
          break;
        case 2:
          bytes.insert(at, 1 + pick(3), static_cast<char>(random_()));
          break;
        default:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
          break;
      }
    }
    return bytes;
  }
  std::size_t pick(std::size_t n) { return random_() % n; }

 private:
  std::string unknown() {
    if (pick(20) != 0) return {};
    const auto field = static_cast<std::uint32_t>(4 + pick(40));
    switch (pick(4)) {
      case 0:
        return varint_field(field, random_());
      case 1:
        return bytes_field(field, random_bytes(random_, pick(9)));
      case 2:
        return varint(field << 3 | 5) + random_bytes(random_, 4);
      default:
        return varint(field << 3 | 1) + random_bytes(random_, 8);
    }
  }
  std::string name() {
    static constexpr std::array<const char*, 7> kNames = {
        "a", "b", "label", "image", "", "a_long_name_of_a_feature", "a_long_name_of_a_featurf"};
    return kNames.at(pick(kNames.size()));
  }
  std::string features() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(6); i < n; ++i) {
      bytes += unknown() + bytes_field(1, map_entry(&WildExamples::feature)) + unknown();
    }
    return bytes;
  }
  std::string feature_lists() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(5); i < n; ++i) {
      bytes += unknown() + bytes_field(1, map_entry(&WildExamples::feature_list)) + unknown();
    }
    return bytes;
  }
  std::string feature_list() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(6); i < n; ++i) {
      bytes += unknown() + bytes_field(1, pick(20) == 0 ? "" : feature()) + unknown();
    }
    return bytes;
  }
  std::string map_entry(std::string (WildExamples::*draw_value)()) {
    const std::string key = pick(30) == 0 ? "" : bytes_field(1, name());
    std::string value = pick(30) == 0 ? "" : bytes_field(2, (this->*draw_value)());
    if (pick(30) == 0) value += bytes_field(2, (this->*draw_value)());
    if (pick(10) == 0) return value + unknown() + key + unknown();
    return key + unknown() + value + unknown();
  }
  std::string feature() {
    std::string bytes;
    for (std::size_t i = 0, n = pick(15) != 0 ? 1 : pick(4); i < n; ++i) {
      const auto kind = static_cast<std::uint32_t>(1 + pick(3));
      bytes += unknown() + bytes_field(kind, list(kind)) + unknown();
    }
    return bytes;
  }
  std::string list(std::uint32_t kind) {
    std::string bytes;
    for (std::size_t i = 0, n = pick(10) != 0 ? 1 : pick(4); i < n; ++i) {
      bytes += unknown();
      if (kind == 1) {
        bytes += bytes_field(1, random_bytes(random_, pick(200)));
      } else if (kind == 2) {
        bytes += pick(5) == 0 ? varint(1 << 3 | 5) + random_bytes(random_, 4)
                              : bytes_field(1, random_bytes(random_, 4 * pick(20)));
      } else if (pick(5) == 0) {
        bytes += varint_field(1, random_() >> pick(64));
      } else {
        std::string packed;
        for (std::size_t k = pick(pick(8) == 0 ? 300 : 20); k > 0; --k)
          packed += varint(random_() >> pick(64));
        bytes += bytes_field(1, packed);
      }
    }
    return bytes;
  }

  SeededRandom random_;
};

}  // namespace infeed::test
