#pragma once

#include <string>

namespace infeed::python {

/// Returns a message's advice as a caller in Python writes it: "{.bad_rows =
/// infeed::BadRows::leave_out}" becomes "bad_rows='leave_out'".
std::string in_python_words(const std::string& text);

}  // namespace infeed::python
