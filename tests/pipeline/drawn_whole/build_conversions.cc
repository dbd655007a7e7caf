#include <fmt/format.h>

#include <infeed/infeed.h>

#include "pipeline/drawn_whole/build.h"

namespace infeed::test {
namespace {

/// Filled up to `bytes`, so that memory limits have something to limit.
template <class T>
std::string text_of(const T& element, std::int64_t bytes) {
  std::string text;
  if constexpr (std::is_same_v<T, std::string>) {
    text = element;
  } else if constexpr (std::is_same_v<T, Record>) {
    text = std::string(element.bytes());
  } else {
    text = fmt::format("{:x}", content_of(element));
  }
  const auto wanted = static_cast<std::size_t>(bytes) * (1 + content_of(element) % 3) / 3;
  if (text.size() < wanted) text.resize(wanted, '.');
  return text;
}

template <class T>
Sentence sentence_of(const T& element) {
  const std::uint64_t content = content_of(element);
  Sentence sentence{.tokens = {},
                    .number = static_cast<std::int64_t>(content % 9973),
                    .text = std::string(content % 50, 't')};
  const std::uint64_t tokens = content / 64 % (content % 37 == 0 ? 200 : 12);
  for (std::uint64_t i = 0; i < tokens; ++i) {
    sentence.tokens.push_back(static_cast<std::int32_t>((content + i * i) % 30'000));
  }
  return sentence;
}

template <class T>
Numbers numbers_of(const T& element, std::int64_t length) {
  const std::uint64_t content = content_of(element);
  Numbers numbers(content % static_cast<std::uint64_t>(length));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int64_t>((content + i) % 100'000);
  }
  return numbers;
}

template <class T>
AnyDataset converted(const Dataset<T>& input, const Step& step, const Surroundings& surroundings) {
  MapOptions options{.parallelism = surroundings.parallelism(step)};
  if (step.op == "to_text") {
    return input |
           map([bytes = step.at("bytes")](const T& x) { return text_of(x, bytes); }, options);
  }
  if (step.op == "to_record") {
    return input | map([bytes = step.at("bytes")](const T& x) { return Record(text_of(x, bytes)); },
                       options);
  }
  if (step.op == "to_integer") {
    return input |
           map([](const T& x) { return static_cast<std::int64_t>(content_of(x) % 1'000'003); },
               options);
  }
  if (step.op == "to_sentence") {
    return input | map([](const T& x) { return sentence_of(x); }, options);
  }
  return input |
         map([length = step.at("length")](const T& x) { return numbers_of(x, length); }, options);
}

}  // namespace

bool is_conversion(const Step& step) { return step.op.starts_with("to_"); }

AnyDataset add_conversion(const AnyDataset& dataset, const Step& step,
                          const Surroundings& surroundings) {
  return std::visit(
      [&](const auto& typed) -> AnyDataset { return converted(typed, step, surroundings); },
      dataset);
}

}  // namespace infeed::test
