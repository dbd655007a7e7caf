#pragma once

#include <string>
#include <utility>

#include <infeed/records/features.h>

#include "thrown_error.h"

/// Applies single steps to a column named "x".
namespace infeed::test {

inline ColumnBatch batch_of(Column column) { return ColumnBatch({{"x", std::move(column)}}); }

/// Returns the result of one step on column "x".
inline Column applied(const feature::Step& step, Column column) {
  return Features({step})(batch_of(std::move(column))).column("x");
}

inline std::string message_of(const feature::Step& step, Column column) {
  const Error error = error_of([&] { applied(step, std::move(column)); });
  return std::string(to_string(error.code())) + ": " + error.message();
}

inline std::string refusal_of(const feature::Step& step) {
  const Error error = error_of([&] { Features({step}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  return error.message();
}

}  // namespace infeed::test
