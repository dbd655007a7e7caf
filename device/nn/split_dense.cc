#include "infeed/device/split_dense.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include <infeed/error.h>

#include "operation_parts.h"

namespace infeed::nn {
namespace {

std::int64_t divided(std::int64_t size, std::int64_t parts, std::string_view what) {
  if (parts >= 1 && size >= parts && size % parts == 0) return size / parts;
  detail::refuse("a layer with {} {} split into {} parts; they must divide it evenly", size, what,
                 parts);
}

/// Adds first 0 + 1, 2 + 3, ...; then their sums, as replicas are added (all_reduce.h).
TapeValue tree_sum(Tape& tape, std::vector<TapeValue> parts) {
  for (std::size_t step = 1; step < parts.size(); step *= 2) {
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
      parts[i] = add(tape, parts[i], parts[i + step]);
    }
  }
  return parts[0];
}

}  // namespace

SplitDense::SplitDense(Scope scope, std::int64_t in, std::int64_t out, SplitDenseOptions options)
    : options_(options) {
  const bool by_columns = options.split == Split::columns;
  const std::int64_t of_in = divided(in, by_columns ? 1 : options.parts, "inputs");
  const std::int64_t of_out = divided(out, by_columns ? options.parts : 1, "outputs");
  const Tensor kernel = scope.draw({in, out}, options.initializer);
  const Tensor bias = scope.draw({out}, Initializer::zeros);
  for (std::int64_t part = 0; part < options.parts; ++part) {
    Scope below = scope.below(fmt::format("part{}", part));
    Tensor of_kernel(DType::float32, {of_in, of_out});
    copy_block(of_in, of_out,
               kernel.values<float>().data() + (by_columns ? part * of_out : part * of_in * out),
               out, values_of(of_kernel), of_out);
    kernels_.push_back(below.variable("kernel", of_kernel));
    if (!by_columns) continue;
    const auto of_part = bias.values<float>().subspan(static_cast<std::size_t>(part * of_out),
                                                      static_cast<std::size_t>(of_out));
    biases_.push_back(below.variable("bias", Tensor::copy_of({of_out}, of_part)));
  }
  if (!by_columns) biases_.push_back(scope.variable("bias", bias));
}

TapeValue SplitDense::apply(Tape& tape, const TapeValue& x) const {
  const std::int32_t devices = tape.options().devices;
  if (devices != 0 && devices != options_.parts) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("variable {} belongs to a layer that is split into {} parts, and a "
                    "replica has {} device{}; set StrategyOptions::devices_of_replica, or "
                    "split the layer so",
                    kernels_.front().name(), options_.parts, devices, devices == 1 ? "" : "s"));
  }
  return Activate(options_.activation)
      .apply(tape, options_.split == Split::columns ? by_columns(tape, x) : by_rows(tape, x));
}

TapeValue SplitDense::by_columns(Tape& tape, const TapeValue& x) const {
  std::vector<TapeValue> parts;
  for (std::size_t part = 0; part < kernels_.size(); ++part) {
    tape.set_device(static_cast<std::int32_t>(part));
    parts.push_back(dense(tape, x, tape.read(kernels_[part]), tape.read(biases_[part])));
  }
  tape.set_device(0);
  return join_columns(tape, parts);
}

TapeValue SplitDense::by_rows(Tape& tape, const TapeValue& x) const {
  const std::int64_t rows = kernels_[0].shape()[0];
  const std::int64_t in = rows * options_.parts;
  if (x.shape().rank() == 0 || x.shape()[x.shape().rank() - 1] != in) {
    detail::refuse("a layer of {} inputs can't take {}", in, x.shape().to_string());
  }
  std::vector<TapeValue> parts;
  for (std::size_t part = 0; part < kernels_.size(); ++part) {
    tape.set_device(static_cast<std::int32_t>(part));
    const TapeValue taken = take_columns(tape, x, static_cast<std::int64_t>(part) * rows, rows);
    parts.push_back(matrix_product(tape, taken, tape.read(kernels_[part])));
  }
  tape.set_device(0);
  return add_table(tape, tree_sum(tape, std::move(parts)), tape.read(biases_[0]));
}

}  // namespace infeed::nn
