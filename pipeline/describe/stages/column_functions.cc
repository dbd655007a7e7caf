#include <fmt/format.h>

#include <infeed/pipeline/map.h>

#include "describe/stages/column_stage.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct SelectStage : StageOptions {
  std::vector<std::string> columns = {};
};
struct RenameStage : StageOptions {
  std::string from = {};
  std::string to = {};
};
struct CastStage : StageOptions {
  std::string column = {};
  DType dtype = DType::float32;
};
struct NormaliseStage : StageOptions {
  std::string column = {};
  double mean = 0;
  double deviation = 1;
};

template <class Function>
void visit_numbers(const Tensor& values, const Function& function) {
  switch (values.dtype()) {
    case DType::boolean:
      return function(values.values<bool>());
    case DType::int8:
      return function(values.values<std::int8_t>());
    case DType::int16:
      return function(values.values<std::int16_t>());
    case DType::int32:
      return function(values.values<std::int32_t>());
    case DType::int64:
      return function(values.values<std::int64_t>());
    case DType::uint8:
      return function(values.values<std::uint8_t>());
    case DType::uint16:
      return function(values.values<std::uint16_t>());
    case DType::uint32:
      return function(values.values<std::uint32_t>());
    case DType::uint64:
      return function(values.values<std::uint64_t>());
    case DType::float16:
      return function(values.values<float16>());
    case DType::bfloat16:
      return function(values.values<bfloat16>());
    case DType::float32:
      return function(values.values<float>());
    case DType::float64:
      return function(values.values<double>());
    case DType::bytes:
      break;
  }
  throw Error(ErrorCode::invalid_argument, "values of bytes are no numbers");
}

/// Returns `compute(value)` of each number, as T.
template <class T, class Compute>
Tensor computed(const Tensor& values, const Compute& compute) {
  Tensor result(dtype_of<T>(), values.shape());
  const std::span<T> out = result.writable<T>();
  visit_numbers(values, [&]<class From>(std::span<const From> in) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if constexpr (std::is_arithmetic_v<From>) {
        out[i] = compute(in[i]);
      } else {
        out[i] = compute(static_cast<float>(in[i]));
      }
    }
  });
  return result;
}

template <class T>
Tensor cast_to(const Tensor& values) {
  return computed<T>(values, [](auto value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<T>(value);
    } else {
      return T(static_cast<float>(value));
    }
  });
}

Tensor cast(const Tensor& values, DType dtype) {
  switch (dtype) {
    case DType::int32:
      return cast_to<std::int32_t>(values);
    case DType::int64:
      return cast_to<std::int64_t>(values);
    case DType::uint8:
      return cast_to<std::uint8_t>(values);
    case DType::float16:
      return cast_to<float16>(values);
    case DType::bfloat16:
      return cast_to<bfloat16>(values);
    case DType::float32:
      return cast_to<float>(values);
    case DType::float64:
      return cast_to<double>(values);
    default:
      break;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("cast: to {} is none of its types; there are int32, int64, uint8, "
                          "float16, bfloat16, float32, float64",
                          to_string(dtype)));
}

/// Applies the function to the values of a column of numbers, of any kind.
ColumnBatch with_values(const ColumnBatch& batch, const std::string& name, const auto& function) {
  const Column& column = batch.column(name);
  if (column.dtype() == DType::bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the column '{}' is of bytes, and has no numbers", name));
  }
  const std::span<const Tensor> parts = column.partitions();
  return batch.with_column(name, Column::of_parts(column.kind(), function(column.values()),
                                                  {parts.begin(), parts.end()}));
}

}  // namespace

void add_column_functions(StageTable& table) {
  table.add("select", "Keeps these columns, in this order.", SelectStage{})
      .required("columns", &SelectStage::columns, "Their names.")
      .makes([](const SelectStage& stage, const Making& making) {
        const auto function = [columns = stage.columns](const ColumnBatch& batch) {
          return batch.select(columns);
        };
        return column_stage(making.input(), "select", Json{{"columns", stage.columns}}, function,
                            stage.name,
                            [&](ColumnSchema columns) { return selected(columns, stage.columns); });
      });
  table.add("rename", "Gives a column another name.", RenameStage{})
      .required("from_name", &RenameStage::from, "Its name.")
      .required("to_name", &RenameStage::to, "The new name.")
      .makes([](const RenameStage& stage, const Making& making) {
        const auto function = [stage](const ColumnBatch& batch) {
          return batch.renamed(stage.from, stage.to);
        };
        return column_stage(making.input(), "rename", Json{{stage.from, stage.to}}, function,
                            stage.name, [&](ColumnSchema columns) {
                              return changed(columns, stage.from,
                                             [&](ColumnType& type) { type.name = stage.to; });
                            });
      });
  table.add("cast", "Converts the numbers of a column to another type.", CastStage{})
      .required("column", &CastStage::column, "Its name.")
      .required("dtype", &CastStage::dtype, "The type, as 'float32'.")
      .makes([](const CastStage& stage, const Making& making) {
        cast(Tensor(), stage.dtype);  // refuses the type when the stage is described
        const auto function = [stage](const ColumnBatch& batch) {
          return with_values(batch, stage.column,
                             [&](const Tensor& values) { return cast(values, stage.dtype); });
        };
        return column_stage(making.input(), "cast", Json{{stage.column, to_string(stage.dtype)}},
                            function, stage.name, [&](ColumnSchema columns) {
                              return changed(columns, stage.column,
                                             [&](ColumnType& type) { type.dtype = stage.dtype; });
                            });
      });
  table
      .add("normalise", "Makes float32 numbers (value - mean) / deviation of a column.",
           NormaliseStage{})
      .required("column", &NormaliseStage::column, "Its name.")
      .option("mean", &NormaliseStage::mean, "Subtracted from each number.")
      .option("deviation", &NormaliseStage::deviation, "Each difference is divided by it.")
      .makes([](const NormaliseStage& stage, const Making& making) {
        if (stage.deviation == 0) {
          throw Error(ErrorCode::invalid_argument, "normalise: deviation is 0; give another one");
        }
        const auto function = [stage](const ColumnBatch& batch) {
          const auto mean = static_cast<float>(stage.mean);
          const auto scale = static_cast<float>(1 / stage.deviation);
          return with_values(batch, stage.column, [&](const Tensor& values) {
            return computed<float>(
                values, [&](auto value) { return (static_cast<float>(value) - mean) * scale; });
          });
        };
        return column_stage(making.input(), "normalise",
                            Json{{stage.column, {stage.mean, stage.deviation}}}, function,
                            stage.name, [&](ColumnSchema columns) {
                              return changed(columns, stage.column,
                                             [](ColumnType& type) { type.dtype = DType::float32; });
                            });
      });
}

}  // namespace infeed::describe
