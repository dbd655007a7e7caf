#include "python/column.h"
#include "python/command.h"
#include "python/dataset.h"
#include "python/errors.h"
#include "python/map_batches.h"
#include "python/nanobind_headers.h"
#include "python/world.h"
#include "python/writing.h"

// In no unnamed namespace: Python looks for the module's function by its name.
NB_MODULE(_core, module) {
  namespace python = infeed::python;
  namespace describe = infeed::describe;
  // Iterators of an exiting program may be left to the system (PyIterator::close).
  nb::set_leak_warnings(false);
  module.attr("__version__") = INFEED_VERSION;
  python::bind_errors(module);
  python::bind_columns(module);
  python::bind_random_keys(module);
  python::bind_command(module);
  python::bind_writing(module);
  python::bind_convert(module);
  describe::StageTable table = describe::native_stages();
  python::add_python_stages(table);
  python::bind_datasets(module, std::make_shared<const describe::StageTable>(std::move(table)));
  python::bind_iterators(module);
  python::bind_world(module);
}
