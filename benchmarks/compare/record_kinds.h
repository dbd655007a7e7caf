#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include <infeed/records/example_schema.h>

/// Why: records as people have them, as Examples. Each kind is a struct with a schema and a way to
/// fill it; tfdata_records.py has the same features.
namespace infeed::compare {

using Random = std::mt19937_64;

template <std::size_t kBytes>
struct PixelRecord {
  std::array<std::uint8_t, kBytes> image;
  std::int64_t label;

  static ExampleSchema<PixelRecord> schema() {
    return ExampleSchema<PixelRecord>()
        .feature("image", &PixelRecord::image)
        .feature("label", &PixelRecord::label);
  }
  void fill(Random& random) {
    for (std::uint8_t& pixel : image) pixel = static_cast<std::uint8_t>(random());
    label = static_cast<std::int64_t>(random() % 1000);
  }
};

/// A row of a table: 40 features of one float each.
struct ScalarRecord {
  float s00, s01, s02, s03, s04, s05, s06, s07, s08, s09;
  float s10, s11, s12, s13, s14, s15, s16, s17, s18, s19;
  float s20, s21, s22, s23, s24, s25, s26, s27, s28, s29;
  float s30, s31, s32, s33, s34, s35, s36, s37, s38, s39;

  static constexpr auto members() {
    using R = ScalarRecord;
    return std::array{&R::s00, &R::s01, &R::s02, &R::s03, &R::s04, &R::s05, &R::s06, &R::s07,
                      &R::s08, &R::s09, &R::s10, &R::s11, &R::s12, &R::s13, &R::s14, &R::s15,
                      &R::s16, &R::s17, &R::s18, &R::s19, &R::s20, &R::s21, &R::s22, &R::s23,
                      &R::s24, &R::s25, &R::s26, &R::s27, &R::s28, &R::s29, &R::s30, &R::s31,
                      &R::s32, &R::s33, &R::s34, &R::s35, &R::s36, &R::s37, &R::s38, &R::s39};
  }
  static ExampleSchema<ScalarRecord> schema() {
    ExampleSchema<ScalarRecord> result;
    int number = 0;
    for (const auto member : members()) {
      const std::string digits = std::to_string(number++);
      result.feature("s" + std::string(2 - digits.size(), '0') + digits, member);
    }
    return result;
  }
  void fill(Random& random) {
    for (const auto member : members()) this->*member = static_cast<float>(random() % 1000);
  }
};

struct FloatRecord {
  std::array<float, 768> values;
  std::int64_t label;

  static ExampleSchema<FloatRecord> schema() {
    return ExampleSchema<FloatRecord>()
        .feature("label", &FloatRecord::label)
        .feature("values", &FloatRecord::values);
  }
  void fill(Random& random) {
    for (float& value : values) value = static_cast<float>(random() % 1000) / 7;
    label = static_cast<std::int64_t>(random() % 1000);
  }
};

struct TokenRecord {
  std::array<std::int64_t, 512> mask;
  std::array<std::int64_t, 512> tokens;

  static ExampleSchema<TokenRecord> schema() {
    return ExampleSchema<TokenRecord>()
        .feature("mask", &TokenRecord::mask)
        .feature("tokens", &TokenRecord::tokens);
  }
  void fill(Random& random) {
    const std::uint64_t length = 128 + random() % 385;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      mask[i] = i < length ? 1 : 0;
      tokens[i] = i < length ? static_cast<std::int64_t>(random() % 30'000) : 0;
    }
  }
};

/// For readers that need only the text: it stays where the file's bytes are.
struct TextOfRecord {
  Record text;

  static ExampleSchema<TextOfRecord> schema() {
    return ExampleSchema<TextOfRecord>().feature("text", &TextOfRecord::text);
  }
};

struct TextRecord {
  std::string text;

  static ExampleSchema<TextRecord> schema() {
    return ExampleSchema<TextRecord>().feature("text", &TextRecord::text);
  }
  /// Words that repeat as in prose, so that the text compresses to about a third.
  void fill(Random& random) {
    static constexpr std::array<const char*, 16> kWords = {
        "the ", "of ", "training ", "and ", "a ",        "pipeline ", "to ",      "records ",
        "in ",  "is ", "elements ", "it ",  "shuffled ", "for ",      "batches ", "on "};
    text.clear();
    while (text.size() < 2000) {
      text += kWords[random() % kWords.size()];
      if (random() % 4 == 0) text += std::to_string(random() % 10'000) + ' ';
    }
  }
};

}  // namespace infeed::compare
