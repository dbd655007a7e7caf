#include "python/column.h"
#include "python/command.h"
#include "python/dataset.h"
#include "python/errors.h"
#include "python/map_batches.h"
#include "python/nanobind_headers.h"

namespace infeed::python {
namespace {

NB_MODULE(_core, module) {
  module.attr("__version__") = INFEED_VERSION;
  bind_errors(module);
  bind_columns(module);
  bind_random_keys(module);
  bind_command(module);
  describe::StageTable table = describe::native_stages();
  add_python_stages(table);
  bind_datasets(module, std::make_shared<const describe::StageTable>(std::move(table)));
  bind_iterators(module);
}

}  // namespace
}  // namespace infeed::python
