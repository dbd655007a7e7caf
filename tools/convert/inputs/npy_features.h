#pragma once

#include <cstdint>
#include <string>

#include <infeed/records/example.h>
#include <infeed/records/npy.h>

/// Rows of NumPy's arrays as features of an Example, which has three kinds of them.
namespace infeed::tools {

/// Error data_loss for an array whose rows are larger than an Example may be.
void require_rows_that_fit(const NpyArray& array);

/// Whether numbers change on their way; empty when they don't.
std::string npy_note(const NpyArray& array);

/// Pixels (u1 of two axes or more) and texts as bytes, other numbers as floats and integers. `bytes`
/// is room to work in.
void add_npy_row(const NpyArray& array, std::uint64_t row, std::string& bytes,
                 ExampleBuilder& builder);

}  // namespace infeed::tools
