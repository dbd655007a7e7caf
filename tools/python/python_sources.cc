#include <infeed/pipeline/generate.h>
#include <infeed/pipeline/unbatch.h>

#include "python/column.h"
#include "python/dataset.h"
#include "python/errors.h"
#include "python/gil_wait.h"
#include "python/map_batches.h"
#include "python/python_end.h"
#include "python/python_object.h"
#include "sources/from_chunks.h"

namespace infeed::python {
namespace {

using describe::Elements;
using describe::Making;
using describe::ObjectId;

struct ObjectStage : StageOptions {
  ObjectId object = {};
};

/// A pass over what a Python function returned.
class PythonBatches {
 public:
  /// Needs the GIL. `weak` refers to the function's Held.
  explicit PythonBatches(const std::shared_ptr<void>& weak) {
    const nb::object begin = referred(weak).attr("begin");
    const StaysIfPythonIsOver staying;
    const nb::object begun = begin();
    pass_ = std::shared_ptr<const nb::object>(
        new nb::object(nb::module_::import_("weakref").attr("ref")(begun)),
        [weak](const nb::object* pass) {
          if (Py_IsInitialized() == 0) return;  // Python has freed everything
          const WithGil gil;
          const nb::object held = (*static_cast<const nb::object*>(weak.get()))();
          if (!held.is_none()) held.attr("end")((*pass)());
          delete pass;
        });
  }

  std::optional<TimedBatch> operator()() {
    const WithGil gil;
    try {
      const nb::object iterator = referred(*pass_).attr("iterator");
      const StaysIfPythonIsOver staying;
      const nb::object element = nb::steal(PyIter_Next(iterator.ptr()));
      if (!element.is_valid()) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        return std::nullopt;
      }
      // People fill the same arrays again and again.
      return TimedBatch{take_batch(element, TakenMemory::copied), gil.wait_ns()};
    } catch (nb::python_error& exception) {
      throw error_of(std::move(exception), "the generator");
    }
  }

 private:
  std::shared_ptr<const nb::object> pass_;  ///< a weak reference, as Held keeps it
};

Elements generated(const ObjectStage& stage, const Making& making) {
  const auto make = [held = making.object(stage.object)] {
    const WithGil gil;
    try {
      return PythonBatches(held);
    } catch (nb::python_error& exception) {
      throw error_of(std::move(exception), "the generator's function");
    }
  };
  return describe::batches_of(with_gil_waits(generate(make, stage), "from_generator"));
}

/// Returns the batches of infeed.arrow, or the one of a mapping of arrays.
std::vector<ColumnBatch> chunks_of(nb::handle given) {
  if (!nb::isinstance<nb::tuple>(given) || nb::len(given) == 0) return {take_batch(given)};
  std::vector<ColumnBatch> chunks;
  for (const nb::handle chunk : given) chunks.push_back(take_batch(chunk));
  return chunks;
}

Elements columns_in_memory(const ObjectStage& stage, const Making& making) {
  const WithGil gil;
  const std::vector<ColumnBatch> all =
      chunks_of(referred(making.object(stage.object)).attr("thing"));
  const auto batches = [all, name = stage.name](const describe::BatchRows& rows,
                                                const ColumnSchema*) {
    return detail::from_chunks(
        all, rows.size,
        {.drop_remainder = rows.drop_remainder, .name = rows.name ? rows.name : name});
  };
  return Elements{.dataset = detail::from_chunks(all, 1, {.name = stage.name}),
                  .are_rows = true,
                  .batch_at_source = batches,
                  .columns = describe::columns_of(all.front())};
}

}  // namespace

void add_python_stages(describe::StageTable& table) {
  table
      .add("from_numpy", "Gives the rows of arrays that are in memory.", ObjectStage{},
           describe::StageRole::source)
      .required("arrays", &ObjectStage::object, "The columns by name.")
      .makes(columns_in_memory);
  table
      .add("from_generator", "Gives the batches of a Python generator.", ObjectStage{},
           describe::StageRole::source)
      .required("make", &ObjectStage::object,
                "A function that returns an iterable of mappings of names to arrays.")
      .makes(generated);
  add_map_batches(table);
}

}  // namespace infeed::python
