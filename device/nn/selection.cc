#include <algorithm>
#include <cmath>
#include <vector>

#include <infeed/device/operations.h>
#include <infeed/pipeline/philox.h>

#include "operation_parts.h"

// Operations that pick items: dropout, embedding, and columns of the last axis.

namespace infeed::nn {
namespace {

/// Whole numbers up to here are exact in float32.
constexpr std::int64_t kRowsMax = std::int64_t{1} << 24;

/// Draws 0 or 1 / (1 - rate) for each item.
Tensor drawn_factors(Tape& tape, const Shape& shape, double rate) {
  const TapeOptions& options = tape.options();
  const Philox random(options.seed ^ (options.step * 0x9E3779B97F4A7C15ULL),
                      (static_cast<std::uint64_t>(options.replica) << 32) | (tape.next_draw() + 1));
  const auto threshold = static_cast<std::uint32_t>(rate * 0x1p32);
  const auto kept = static_cast<float>(1 / (1 - rate));
  Tensor factors = tape.make(shape);
  const std::span<float> to = factors.writable<float>();
  for (std::size_t i = 0; i < to.size(); i += 4) {
    const std::array<std::uint32_t, 4> words = random.block(i / 4);
    for (std::size_t lane = 0; lane < std::min<std::size_t>(4, to.size() - i); ++lane) {
      to[i + lane] = words[lane] < threshold ? 0.0F : kept;
    }
  }
  return factors;
}

/// Returns the place of item `at`: "[3, 2]".
std::string place_of(std::size_t at, const Shape& shape) {
  std::vector<std::int64_t> place(shape.rank());
  auto rest = static_cast<std::int64_t>(at);
  for (std::size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
    place[axis] = rest % shape[axis];
  }
  return Shape(std::span<const std::int64_t>(place)).to_string();
}

}  // namespace

TapeValue take_columns(Tape& tape, const TapeValue& x, std::int64_t begin, std::int64_t count) {
  if (x.shape().rank() == 0 || begin < 0 || count < 1 ||
      begin > x.shape()[x.shape().rank() - 1] - count) {
    detail::refuse("{} columns from {} on of {}; they must lie in its last axis", count, begin,
                   x.shape().to_string());
  }
  const std::int64_t columns = x.shape()[x.shape().rank() - 1];
  const std::int64_t rows = rows_in(x.shape());
  Tensor y = tape.make(with_last(x.shape(), count));
  copy_block(rows, count, values_of(x) + begin, columns, values_of(y), count);
  return tape.record(
      "take_columns", std::move(y), {x}, [=, &tape, shape = x.shape()](const Tensor& dy) {
        Tensor dx = zeros(tape, shape);
        copy_block(rows, count, dy.values<float>().data(), count, values_of(dx) + begin, columns);
        return std::vector<Tensor>{std::move(dx)};
      });
}

TapeValue join_columns(Tape& tape, const std::vector<TapeValue>& parts) {
  std::vector<Shape> shapes;
  std::int64_t columns = 0;
  for (const TapeValue& part : parts) {
    const Shape& shape = part.shape();
    if (shape.rank() == 0 || !(with_last(shape, 1) == with_last(parts[0].shape(), 1))) {
      detail::refuse("{} can't stand beside {}: all extents but the last must be alike",
                     shape.to_string(), parts[0].shape().to_string());
    }
    shapes.push_back(shape);
    columns += shape[shape.rank() - 1];
  }
  if (parts.empty()) detail::refuse("no parts to join");
  const std::int64_t rows = rows_in(shapes[0]);
  Tensor y = tape.make(with_last(shapes[0], columns));
  float* to = values_of(y);
  for (const TapeValue& part : parts) {
    const std::int64_t count = part.shape()[part.shape().rank() - 1];
    copy_block(rows, count, values_of(part), count, to, columns);
    to += count;
  }
  return tape.record("join_columns", std::move(y), parts,
                     [&tape, shapes = std::move(shapes), rows, columns](const Tensor& dy) {
                       std::vector<Tensor> gradients;
                       const float* from = dy.values<float>().data();
                       for (const Shape& shape : shapes) {
                         const std::int64_t count = shape[shape.rank() - 1];
                         gradients.push_back(tape.make(shape));
                         copy_block(rows, count, from, columns, values_of(gradients.back()), count);
                         from += count;
                       }
                       return gradients;
                     });
}

TapeValue dropout(Tape& tape, const TapeValue& x, double rate) {
  if (!(rate >= 0 && rate < 1)) {
    detail::refuse("dropout with a rate of {}; it takes 0 to below 1", rate);
  }
  if (!tape.options().training || rate == 0) return x;
  const Tensor factors = drawn_factors(tape, x.shape(), rate);
  return tape.record("dropout", product_of(tape, x.tensor(), factors), {x},
                     [&tape, factors](const Tensor& dy) {
                       return std::vector<Tensor>{product_of(tape, dy, factors)};
                     });
}

TapeValue embedding(Tape& tape, const TapeValue& table, const TapeValue& ids) {
  if (table.shape().rank() != 2 || table.shape()[0] > kRowsMax) {
    detail::refuse("an embedding from a table {}; expected [rows, features] with up to {} rows",
                   table.shape().to_string(), kRowsMax);
  }
  const std::int64_t features = table.shape()[1];
  const std::span<const float> numbers = ids.values();
  std::vector<std::int64_t> rows(numbers.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float id = numbers[i];
    if (!(id >= 0 && id < static_cast<float>(table.shape()[0]) && id == std::floor(id))) {
      detail::refuse("id {} at {} of its batch {}; the table has rows 0 to {}", id,
                     place_of(i, ids.shape()), ids.shape().to_string(), table.shape()[0] - 1);
    }
    rows[i] = static_cast<std::int64_t>(id);
  }
  std::vector<std::int64_t> extents(ids.shape().begin(), ids.shape().end());
  extents.push_back(features);
  Tensor y = tape.make(Shape(std::span<const std::int64_t>(extents)));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(values_of(table) + rows[i] * features, features,
                values_of(y) + static_cast<std::int64_t>(i) * features);
  }
  return tape.record("embedding", std::move(y), {table},
                     [&tape, shape = table.shape(), rows = std::move(rows)](const Tensor& dy) {
                       Tensor dx = zeros(tape, shape);
                       const float* from = dy.values<float>().data();
                       for (const std::int64_t row : rows) {
                         float* const to = values_of(dx) + row * shape[1];
                         for (std::int64_t c = 0; c < shape[1]; ++c) to[c] += from[c];
                         from += shape[1];
                       }
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

}  // namespace infeed::nn
