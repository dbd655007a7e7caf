#pragma once

#include <string>
#include <string_view>

#include <infeed/convert/example_input.h>
#include <infeed/records/example.h>

#include "convert/convert.h"

namespace infeed::tools {

/// The examples that a part of a split takes. A hash of the name, or of a column's value, decides.
/// By a column, all rows of one user are in one part, and copies of an example too, whatever their
/// files are called. An example without that value, or that can't be read, goes by its name.
///
/// Thread-safety: const access from any thread.
class ExampleSplit {
 public:
  explicit ExampleSplit(const ConvertOptions& options);

  bool takes_all() const { return part_ == SplitPart::all; }
  bool is_by_column() const { return !takes_all() && !column_.empty(); }
  bool takes_name(std::string_view name) const;
  bool takes_example(std::string_view name, std::string_view example) const;

 private:
  const SplitPart part_;
  const double validation_share_;
  const std::string column_;
  const ExampleParser parser_;
};

/// Throws invalid_argument if the input has no such column.
void require_split_column(const ExampleInput& input, const ConvertOptions& options);

}  // namespace infeed::tools
