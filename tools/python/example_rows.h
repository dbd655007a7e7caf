#pragma once

#include <string>

#include <infeed/records/example.h>

#include "python/nanobind_headers.h"

/// Rows of Python as records.
namespace infeed::python {

/// Returns the record of a row: bytes as they are, or the tf.train.Example of a mapping of names to
/// values. Needs the GIL.
///
/// | value                                        | feature                                     |
/// |----------------------------------------------|---------------------------------------------|
/// | bytes, str                                   | one value of bytes                          |
/// | int, bool; arrays and lists of them          | int64                                       |
/// | float; arrays and lists of them              | float32                                     |
/// | an array of uint8 with an axis, as an image  | one value of bytes, as parse() takes it     |
/// | lists and arrays of bytes or str             | bytes                                       |
/// | None, an empty list                          | none                                        |
///
/// Arrays are those of NumPy, and all that numpy.asarray takes. Throws Error invalid_argument that
/// names the feature.
std::string record_of(nb::handle row);

}  // namespace infeed::python
