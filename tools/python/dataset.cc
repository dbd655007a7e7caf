#include "python/dataset.h"

#include "python/column.h"
#include "python/python_object.h"
#include "python/signals.h"

namespace infeed::python {
namespace {

using describe::Description;
using describe::Objects;

/// Returns weak references to what the package's Held keeps.
Objects objects_of(const nb::dict& held) {
  const nb::object weak = nb::module_::import_("weakref").attr("ref");
  Objects objects;
  for (const auto [id, object] : held) {
    objects.emplace(nb::cast<std::string>(id), share(weak(object)));
  }
  return objects;
}

nb::dict held_of(const Objects& objects) {
  nb::dict held;
  for (const auto& [id, weak] : objects) {
    held[id.c_str()] = referred(weak);
  }
  return held;
}

Description with_stage(const Description& before, const std::string& stage,
                       const std::string& options, const std::vector<const Description*>& inputs,
                       const nb::dict& objects) {
  std::vector<Description> copies;
  for (const Description* input : inputs) copies.push_back(*input);
  if (objects.size() != 0) return before.then(stage, options, copies, objects_of(objects));
  if (!before.is_empty() && stage != "parse") {
    const nb::gil_scoped_release without_gil;
    return before.then(stage, options, copies);
  }
  // Sources and parse() may read files: their header, the first rows, all of them behind a URL.
  return left_behind_by_signals(
      [before, stage, options, copies] { return before.then(stage, options, copies); });
}

nb::object cardinality_of(const Description& description) {
  const Cardinality count = description.elements().node()->cardinality();
  if (count.is_finite()) return nb::int_(count.count());
  if (count.is_infinite()) return nb::float_(std::numeric_limits<double>::infinity());
  return nb::none();
}

}  // namespace

void bind_datasets(nb::module_& module, std::shared_ptr<const describe::StageTable> table) {
  nb::class_<Description>(module, "Dataset", "A description of a pipeline.")
      .def(
          "then",
          [](const Description& self, const std::string& stage, const std::string& options,
             const std::vector<const Description*>& inputs,
             const nb::dict& objects) { return with_stage(self, stage, options, inputs, objects); },
          nb::arg("stage"), nb::arg("options"), nb::arg("inputs"), nb::arg("objects"))
      .def("to_json", &Description::to_json, nb::arg("with_objects") = false)
      .def("text", &Description::text)
      .def("held", [](const Description& self) { return held_of(self.objects()); })
      .def("kind",
           [](const Description& self) { return std::string(to_string(self.elements().kind())); })
      .def("columns",
           [](const Description& self) -> std::optional<std::string> {
             const auto& columns = self.elements().columns;
             return columns ? std::optional(columns->to_json()) : std::nullopt;
           })
      .def("batch_without_rows",
           [](const Description& self) {
             const auto& columns = self.elements().columns;
             return columns ? make_batch(describe::batch_without_rows(*columns)) : nb::none();
           })
      .def("cardinality", &cardinality_of)
      .def("fingerprint",
           [](const Description& self) {
             return left_behind_by_signals([self] { return self.fingerprint(); });
           })
      .def("iterate", &iterate)
      .def("at", &element_at)
      .def("resharded", &resharded)
      .def("equals",
           [](const Description& self, const Description& other) { return self == other; });
  module.def(
      "stages", [table] { return table->to_json(); },
      "The kinds of stages with their options, in JSON.");
  module.def("empty", [table] { return Description(table); });
  module.def(
      "from_json",
      [table](const std::string& text, const nb::dict& objects) {
        if (objects.size() != 0) return Description::from_json(text, table, objects_of(objects));
        return left_behind_by_signals(
            [text, table] { return Description::from_json(text, table, {}); });
      },
      nb::arg("text"), nb::arg("objects"));
}

}  // namespace infeed::python
