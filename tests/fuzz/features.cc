#include <algorithm>
#include <string_view>
#include <variant>

#include <infeed/records/column_builder.h>
#include <infeed/records/features.h>

#include "fuzz.h"

namespace {

using namespace infeed;

/// Columns of every kind: "a" of numbers, "r" ragged, "p" padded, "t" of texts, "s" ragged texts.
ColumnBatch all_kinds() {
  const Tensor numbers = Tensor::copy_of<float>({2, 2}, {0.5F, -1, 3, 1e30F});
  return ColumnBatch(
      {{"a", column_of(std::vector<std::int64_t>{3, -7})},
       {"r", ragged_column_of(std::vector<std::vector<std::uint8_t>>{{1, 2}, {}})},
       {"p", Column::padded(numbers, column_of(std::vector<std::int64_t>{1, 2}).values())},
       {"t", Column::of_bytes({"a|b", "17"})},
       {"s", ragged_column_of(std::vector<std::vector<std::string>>{{"1"}, {"", "x|"}})}});
}

/// True if the results fit into memory.
bool is_small(const feature::Step& step) {
  return std::visit(
      []<class One>(const One& one) {
        if constexpr (requires { one.depth; }) return one.depth <= 1 << 10;
        return true;
      },
      step);
}

}  // namespace

/// Feature operations in JSON: any text is operations or an Error with the reason, operations survive
/// a round trip, and they give a batch or an Error.
void infeed::fuzz::check(Input input) {
  const std::string_view text = input.rest();
  if (text.find("file") != text.npos) return;  // it would read any file
  std::vector<feature::Step> none;
  Features features(none);
  try {
    features = Features::from_json(text);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_argument, error.what());
    require(!error.message().empty(), "it says why");
    return;
  }
  const std::string written = features.to_json();
  const Features again = Features::from_json(written);
  require(again.to_json() == written && again.hash() == features.hash(), "operations come back");
  if (!std::all_of(features.steps().begin(), features.steps().end(), is_small)) return;
  if (features.steps().size() > 4) return;  // each one_hot adds an axis
  static const ColumnBatch batch = all_kinds();
  try {
    require(features(batch).rows() == batch.rows(), "rows stay");
  } catch (const Error& error) {
    require(error.code() != ErrorCode::internal, error.what());
  }
}
