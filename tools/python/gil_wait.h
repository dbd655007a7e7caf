#pragma once

#include <cstdint>
#include <string>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>

/// Why: a background thread that calls Python waits for the GIL, 5 ms each time while the training
/// loop runs Python code, and nothing shows it. So what calls Python says how long it waited for
/// each batch, and the statistics have the sum: the count "gil_wait_ns", and a line of the table.
namespace infeed::python {

struct TimedBatch {
  ColumnBatch batch;
  std::uint64_t gil_wait_ns = 0;
};

/// Hands on the batches, and counts the waits in a stage of that kind.
Dataset<ColumnBatch> with_gil_waits(const Dataset<TimedBatch>& input, const std::string& kind);

}  // namespace infeed::python

template <>
struct infeed::Payload<infeed::python::TimedBatch> {
  static std::size_t bytes(const python::TimedBatch& timed) { return timed.batch.held_bytes(); }
};
template <>
struct infeed::IsTriviallyRelocatable<infeed::python::TimedBatch>
    : infeed::IsTriviallyRelocatable<infeed::ColumnBatch> {};
