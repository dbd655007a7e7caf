#pragma once

#include <cstdint>
#include <string>

#include <infeed/records/example.h>
#include <infeed/records/npy.h>

/// Rows of NumPy's arrays as features of an Example, which has three kinds.
namespace infeed::tools {

/// Throws data_loss for an array whose rows are larger than an Example may be.
void require_rows_that_fit(const NpyArray& array);

/// Returns a note on numbers that change on their way; empty if none do.
std::string npy_note(const NpyArray& array);

/// Adds pixels (several u1 a row) and texts as bytes, other numbers as floats and integers. `bytes`
/// is working memory. Throws invalid_argument for a finite number beyond float32, and for one beyond
/// int64.
void add_npy_row(const NpyArray& array, std::uint64_t row, std::string& bytes,
                 ExampleBuilder& builder);

}  // namespace infeed::tools
