#include "python/column.h"
#include "python/dataset.h"
#include "python/errors.h"
#include "python/nanobind_headers.h"
#include "python/rng.h"

namespace infeed::python {
namespace {

NB_MODULE(_core, module) {
  module.attr("__version__") = INFEED_VERSION;
  bind_errors(module);
  bind_columns(module);
  bind_rng(module);
  describe::StageTable table = describe::native_stages();
  add_python_stages(table);
  bind_datasets(module, std::make_shared<const describe::StageTable>(std::move(table)));
  bind_iterators(module);
}

}  // namespace
}  // namespace infeed::python
