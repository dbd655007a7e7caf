#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/sequence_batch.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/record.h>

/// The kinds of elements that a drawn pipeline goes through. Every stage that takes any element
/// takes all of them; the others lead from one kind to another.
namespace infeed::test {

struct Sentence {
  std::vector<std::int32_t> tokens;
  std::int64_t number = 0;
  std::string text;
};

struct Sample {
  std::array<float, 4> values{};
  std::int64_t number = 0;
};

using Numbers = std::vector<std::int64_t>;

/// In the order of AnyDataset's alternatives.
enum class Kind {
  integer,
  text,
  record,
  sentence,
  numbers,
  integers,
  samples,
  ragged,
  padded,
  columns
};
inline constexpr std::size_t kKinds = 10;

using AnyDataset = std::variant<Dataset<std::int64_t>, Dataset<std::string>, Dataset<Record>,
                                Dataset<Sentence>, Dataset<Numbers>, Dataset<Batch<std::int64_t>>,
                                Dataset<Batch<Sample>>, Dataset<RaggedBatch<Sentence>>,
                                Dataset<PaddedBatch<Sentence>>, Dataset<ColumnBatch>>;
static_assert(std::variant_size_v<AnyDataset> == kKinds);

inline Kind kind_of(const AnyDataset& dataset) { return static_cast<Kind>(dataset.index()); }

/// Returns a number that depends on the whole content of the element.
template <class T>
std::uint64_t content_of(const T& element) {
  static_assert(detail::has_content<T>());
  OrderHash hash;
  detail::hash_content<T>(hash, element);
  return hash.value();
}

/// True if a drawn function treats the element otherwise than most.
template <class T>
bool is_special(const T& element, std::int64_t modulus, std::int64_t residue) {
  return content_of(element) % static_cast<std::uint64_t>(modulus) ==
         static_cast<std::uint64_t>(residue);
}

}  // namespace infeed::test
