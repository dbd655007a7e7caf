#include "python/world.h"

#include <infeed/feed.h>
#include <infeed/world.h>

#include "infeed/describe/description.h"

namespace infeed::python {

void bind_world(nb::module_& module) {
  module.def(
      "detect_world",
      [](int size) {
        const DetectedWorld found = detect_world({.size = size});
        return nb::make_tuple(found.world.rank, found.world.size, found.source);
      },
      nb::arg("size"), "What the launcher's variables say: rank, size and which variables.");
  module.def(
      "check_can_be_asked_by_step",
      [](const describe::Description& dataset) {
        check_can_be_asked_by_step(*dataset.elements().node());
      },
      nb::arg("dataset"));
}

}  // namespace infeed::python
