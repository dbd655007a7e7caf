#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "columns/growing_buffer.h"
#include "features/column_items.h"
#include "features/feature_functions.h"
#include "features/number_places.h"
#include "infeed/detail/parse_whole.h"
#include "infeed/records/detail/row_scan.h"
#include "infeed/records/detail/text_feed.h"
#include "infeed/records/detail/text_value.h"
#include "infeed/records/fingerprint.h"
#include "text/number_text.h"
#include "text/text_plan.h"

/// Operations on text: hash_buckets, vocabulary, split, and the cast to numbers.
namespace infeed::detail {
namespace {

/// Calls visit(i, text) for every text of a column of bytes.
template <class Visit>
void for_each_text(const Column& column, Visit visit) {
  const auto offsets = column.offsets();
  const auto* const data = reinterpret_cast<const char*>(column.values().data());
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    visit(i, std::string_view(data + offsets[i],
                              static_cast<std::size_t>(offsets[i + 1] - offsets[i])));
  }
}

std::int64_t texts_of(const Column& column) {
  return static_cast<std::int64_t>(column.offsets().size()) - 1;
}

/// Holds the decimal text of a whole number.
class NumberText {
 public:
  template <class T>
  explicit NumberText(T number) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    end_ = std::to_chars(text_, text_ + sizeof(text_), static_cast<Wide>(number)).ptr;
  }
  operator std::string_view() const { return {text_, static_cast<std::size_t>(end_ - text_)}; }

 private:
  char text_[24];
  char* end_;
};

/// Makes an int64 of each text, or of each whole number: id_of(index, text or number).
template <class IdOf>
Column map_to_ids(const Column& column, IdOf id_of) {
  if (column.dtype() == DType::bytes) {
    Tensor values(DType::int64, {texts_of(column)});
    std::int64_t* const to = values.writable<std::int64_t>().data();
    for_each_text(column, [&](std::size_t i, std::string_view text) { to[i] = id_of(i, text); });
    return with_values(column, std::move(values));
  }
  if (is_float(column.dtype())) refuse_column_of(column, "text or whole numbers");
  return visit_whole_numbers(column, [&]<class T>(T) {
    const T* const begin = column.values<T>().data();
    std::size_t at = 0;
    Tensor values(DType::int64, column.values().shape());
    std::int64_t* const to = values.writable<std::int64_t>().data();
    const auto total = static_cast<std::size_t>(values.shape().items());
    const auto fill_padding = [&](std::size_t end) {
      for (; at < end; ++at) to[at] = converted<std::int64_t>(begin[at]);
    };
    for_each_run(column, [&](std::size_t first, std::size_t end) {
      fill_padding(first);
      for (; at < end; ++at) to[at] = id_of(at, begin[at]);
    });
    fill_padding(total);
    return with_values(column, std::move(values));
  });
}

/// The words of a vocabulary and their places. Thread-safety: immutable.
class WordPlaces {
 public:
  explicit WordPlaces(std::vector<std::string> words, std::string_view source)
      : words_(std::move(words)) {
    places_.reserve(words_.size());
    std::vector<NumberPlace> numbers;
    for (const std::string& word : words_) {
      const auto place = static_cast<std::int64_t>(places_.size());
      const auto [known, is_new] = places_.emplace(word, place);
      if (!is_new) {
        refuse_option(
            fmt::format("{} comes twice in the vocabulary{}, as words {} and {} (from 0 "
                        "on); each word is expected once",
                        quoted_text(word), source, known->second, place));
      }
      std::int64_t number = 0;
      if (parse_whole(word, number) && std::string_view(NumberText(number)) == word) {
        numbers.push_back({number, place});
      }
    }
    numbers_ = NumberPlaces(numbers);
  }

  std::size_t size() const { return words_.size(); }
  /// Returns the place of the word, or -1.
  std::int64_t find(std::string_view word) const {
    const auto found = places_.find(word);
    return found == places_.end() ? -1 : found->second;
  }
  template <std::integral T>
  std::int64_t find(T number) const {
    if (!holds<std::int64_t>(number)) return find(std::string_view(NumberText(number)));
    return numbers_.find(static_cast<std::int64_t>(number));
  }

 private:
  const std::vector<std::string> words_;
  std::unordered_map<std::string_view, std::int64_t> places_;
  NumberPlaces numbers_;  ///< words that are whole numbers
};

std::string_view text_of(std::string_view text) { return text; }
template <std::integral T>
NumberText text_of(T number) {
  return NumberText(number);
}

template <class Text>
std::uint64_t hash_of(const Text& value) {
  return fingerprint64(text_of(value));
}

std::vector<std::string> read_words(const std::string& file) {
  TextFeed feed(std::make_shared<const std::vector<std::string>>(1, file),
                {.keeps_empty_lines = true});
  std::vector<std::string> words;
  constexpr std::size_t kLinesAtOnce = 1 << 16;
  for (TextRows rows; feed.read(kLinesAtOnce, rows);) {
    for (const TextPiece& piece : rows.pieces) {
      std::string_view left = piece.text.bytes();
      while (!left.empty()) {
        const std::size_t end = left.find('\n');
        std::string_view word = left.substr(0, end);
        if (word.ends_with('\r')) word.remove_suffix(1);
        words.emplace_back(word);
        left.remove_prefix(end + 1);
      }
    }
  }
  return words;
}

/// Reads true, false, 1 or 0. Returns false for other texts.
bool read_bool(std::string_view text, bool& to) {
  if (const auto named = parse_bool_name(text)) {
    to = *named;
    return true;
  }
  to = text == "1";
  return to || text == "0";
}

/// Reads digits, or digits, a point and digits, at most 8 each, perhaps with a minus before them.
/// Returns false for other texts. Some bytes behind the text are read, which mean nothing.
bool read_plain_decimal(std::string_view text, Decimal& out) {
  out.is_negative = text.data()[0] == '-';
  const char* const begin = text.data() + (out.is_negative ? 1 : 0);
  const std::size_t size = text.size() - (out.is_negative ? 1 : 0);
  const std::uint64_t digits = load_digits(begin);
  const std::size_t whole = count_digits(digits);  // the next text's may be among them
  if (whole >= size) {
    if (size - 1 >= 8) return false;  // also when there are none
    out.mantissa = value_of_digits(digits, size);
    out.exponent = 0;
    return true;
  }
  const std::size_t fraction = size - whole - 1;
  if (whole == 0 || fraction - 1 >= 8 || begin[whole] != '.') return false;
  if (!parse_digits(begin + whole + 1, fraction, out.mantissa)) return false;
  out.mantissa += value_of_digits(digits, whole) * kSmallPowersOfTen[fraction];
  out.exponent = -static_cast<int>(fraction);
  return true;
}

/// Reads a float. The general way goes on over all digits, which the next text may have, too, so
/// the text gets an end of its own.
template <class T>
NumberProblem read_float(std::string_view text, bool has_room, T& to) {
  if (Decimal plain; has_room && read_plain_decimal(text, plain) && round_decimal(plain, to)) {
    return NumberProblem::none;
  }
  std::array<char, 2 * kTextPaddingBytes> own{};
  if (text.size() >= kTextPaddingBytes) {
    return parse_any_float(text.data(), text.data() + text.size(), to);
  }
  std::memcpy(own.data(), text.data(), text.size());
  return parse_float(own.data(), own.data() + text.size(), to);
}

/// Reads a number as To. Returns false when the text is none that To holds. If `has_room`, some
/// bytes behind the text may be read.
template <class To>
bool read_number(std::string_view text, bool has_room, To& to) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if constexpr (std::is_same_v<To, bool>) {
    return read_bool(text, to);
  } else if constexpr (std::is_integral_v<To>) {
    const NumberProblem problem =
        has_room ? parse_integer(begin, end, to) : parse_long_integer(begin, end, to);
    return problem == NumberProblem::none;
  } else if constexpr (sizeof(To) == 2) {
    double number = 0;
    const NumberProblem problem = read_float(text, has_room, number);
    to = nearest_half<To>(number);
    return problem == NumberProblem::none &&
           (std::isinf(number) || !std::isinf(static_cast<float>(to)));
  } else {
    return read_float(text, has_room, to) == NumberProblem::none;
  }
}

/// Finds the parts of a text: calls visit(part) for each. An empty text has none.
template <class Visit>
void for_each_part(std::string_view text, std::string_view delimiter, Visit visit) {
  if (text.empty()) return;
  while (true) {
    const std::size_t end = delimiter.size() == 1 ? text.find(delimiter[0]) : text.find(delimiter);
    visit(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + delimiter.size());
  }
}

Column split(const Column& column, std::string_view delimiter) {
  const TensorPool pool;
  const std::int64_t texts = texts_of(column);
  Tensor splits(DType::int64, {texts + 1});
  std::int64_t* const ends = splits.writable<std::int64_t>().data();
  ends[0] = 0;
  Tensor data(DType::uint8, column.values().shape());  // the delimiters' room stays free
  auto* const begin = data.writable<std::uint8_t>().data();
  std::uint8_t* to = begin;
  GrowingBuffer offsets;
  offsets.reserve(static_cast<std::size_t>(texts) * 4 * sizeof(std::int64_t), pool);
  offsets.push_back(0, pool);
  for_each_text(column, [&](std::size_t i, std::string_view text) {
    for_each_part(text, delimiter, [&](std::string_view part) {
      std::memcpy(to, part.data(), part.size());
      to += part.size();
      offsets.push_back(to - begin, pool);
    });
    ends[i + 1] = static_cast<std::int64_t>(offsets.size<std::int64_t>()) - 1;
  });
  const auto outer = column.partitions().first(column.levels());
  std::vector<Tensor> all(outer.begin(), outer.end());
  all.push_back(std::move(splits));
  return Column::ragged_bytes(std::move(all), offsets.finish(DType::int64, {ends[texts] + 1}, pool),
                              data.slice(0, to - begin));
}

}  // namespace

FeatureFunction feature_function(const feature::HashBuckets& step) {
  if (step.buckets < 1) {
    refuse_option(fmt::format("buckets is {}; at least 1 is expected", step.buckets.value()));
  }
  return [buckets = std::uint64_t{step.buckets}](const Column& column) {
    return map_to_ids(column, [buckets](std::size_t, const auto& value) {
      return static_cast<std::int64_t>(hash_of(value) % buckets);
    });
  };
}

std::vector<std::string> words_of(const feature::Vocabulary& step) {
  if (step.file.empty() == step.words.empty()) {
    refuse_option(step.file.empty() ? "there are no words; give a file with a word a line, or words"
                                    : "there are both a file and words; give one of them");
  }
  std::vector<std::string> words = step.file.empty() ? step.words : read_words(step.file);
  if (words.empty()) {
    refuse_option(fmt::format("the file {} has no words; a word a line is expected", step.file));
  }
  return words;
}

FeatureFunction vocabulary_function(const feature::Vocabulary& step,
                                    std::vector<std::string> words) {
  const std::uint64_t oov = step.oov_buckets.of("vocabulary", "oov_buckets");
  std::string source = step.file.empty() ? "" : fmt::format(" ({})", step.file);
  auto places = std::make_shared<const WordPlaces>(std::move(words), source);
  return [oov, source = std::move(source), places = std::move(places)](const Column& column) {
    return map_to_ids(column, [&](std::size_t i, const auto& value) {
      const std::int64_t place = places->find(value);
      if (place >= 0) [[likely]]
        return place;
      if (oov == 0) {
        refuse_item(column, static_cast<std::int64_t>(i),
                    fmt::format("{} is none of the vocabulary's {} words{}; add it, or give "
                                "oov_buckets for words that aren't there",
                                quoted_text(text_of(value)), places->size(), source));
      }
      return static_cast<std::int64_t>(places->size() + hash_of(value) % oov);
    });
  };
}

FeatureFunction feature_function(const feature::Split& step) {
  if (step.delimiter.empty()) {
    refuse_option("delimiter is empty; the text between two parts is expected, as \"|\"");
  }
  return [delimiter = step.delimiter](const Column& column) {
    if (column.dtype() != DType::bytes) refuse_column_of(column, "texts");
    return split(column, delimiter);
  };
}

FeatureFunction text_cast(DType dtype) {
  return [dtype](const Column& column) {
    return with_dtype(dtype, [&]<class To>(To) {
      Tensor values(dtype, {texts_of(column)});
      To* const to = values.writable<To>().data();
      const auto* const data = reinterpret_cast<const char*>(column.values().data());
      const char* const end = data + column.values().bytes();
      for_each_text(column, [&](std::size_t i, std::string_view text) {
        const bool has_room =
            static_cast<std::size_t>(end - text.data()) >= text.size() + kTextPaddingBytes;
        if (read_number(text, has_room, to[i])) [[likely]]
          return;
        if (read_number(trimmed_cell(text), has_room, to[i])) return;
        refuse_item(column, static_cast<std::int64_t>(i),
                    fmt::format("{} is found, but {} is expected", quoted_text(text),
                                expected_value(dtype)));
      });
      return with_values(column, std::move(values));
    });
  };
}

}  // namespace infeed::detail
