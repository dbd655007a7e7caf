#include "python/arrow_capsules.h"

#include <memory>
#include <utility>

#include <infeed/records/arrow.h>

#include "python/python_object.h"

namespace infeed::python {
namespace {

/// Frees a struct of Arrow's that no consumer moved out of its capsule.
template <class Struct>
void release_capsule(PyObject* capsule, const char* name) {
  auto* const kept = static_cast<Struct*>(PyCapsule_GetPointer(capsule, name));
  if (kept == nullptr) return;
  if (kept->release != nullptr) kept->release(kept);
  delete kept;
}

template <class Struct>
nb::object capsule_of(std::unique_ptr<Struct> kept, const char* name, PyCapsule_Destructor free) {
  PyObject* const capsule = PyCapsule_New(kept.get(), name, free);
  if (capsule == nullptr) {
    if (kept->release != nullptr) kept->release(kept.get());
    throw nb::python_error();
  }
  (void)kept.release();
  return nb::steal(capsule);
}

nb::object schema_capsule(std::unique_ptr<ArrowSchema> schema) {
  return capsule_of(std::move(schema), "arrow_schema",
                    [](PyObject* self) { release_capsule<ArrowSchema>(self, "arrow_schema"); });
}

nb::object array_capsule(std::unique_ptr<ArrowArray> array) {
  return capsule_of(std::move(array), "arrow_array",
                    [](PyObject* self) { release_capsule<ArrowArray>(self, "arrow_array"); });
}

struct Exported {
  std::unique_ptr<ArrowSchema> schema = std::make_unique<ArrowSchema>();
  std::unique_ptr<ArrowArray> array = std::make_unique<ArrowArray>();
};

Exported exported(const ColumnBatch& batch) {
  Exported result;
  export_arrow(batch, result.schema.get(), result.array.get());
  return result;
}

/// Moves the first child out, and releases the rest.
template <class Struct>
std::unique_ptr<Struct> first_child(std::unique_ptr<Struct> parent) {
  auto child = std::make_unique<Struct>(*parent->children[0]);
  parent->children[0]->release = nullptr;
  parent->release(parent.get());
  return child;
}

Exported exported(const Column& column) {
  Exported batch = exported(ColumnBatch({{"", column}}));
  return {first_child(std::move(batch.schema)), first_child(std::move(batch.array))};
}

template <class Data>
nb::object schema_of(const Data& data) {
  Exported both = exported(data);
  both.array->release(both.array.get());
  return schema_capsule(std::move(both.schema));
}

template <class Data>
nb::tuple capsules_of(const Data& data) {
  Exported both = exported(data);
  nb::object array = array_capsule(std::move(both.array));
  return nb::make_tuple(schema_capsule(std::move(both.schema)), array);
}

}  // namespace

nb::object arrow_schema_capsule(const ColumnBatch& batch) { return schema_of(batch); }
nb::object arrow_schema_capsule(const Column& column) { return schema_of(column); }
nb::tuple arrow_array_capsules(const ColumnBatch& batch) { return capsules_of(batch); }
nb::tuple arrow_array_capsules(const Column& column) { return capsules_of(column); }

nb::object arrow_stream_capsule(nb::object next) {
  // The consumer may call the stream, and drop it, on a thread that has no GIL.
  const SharedObject kept = share(std::move(next));
  auto stream = std::make_unique<ArrowArrayStream>();
  export_arrow_stream(
      [kept]() -> std::optional<ColumnBatch> {
        const WithGil gil;
        const nb::object batch = (*kept)();
        if (batch.is_none()) return std::nullopt;
        return nb::cast<const PyBatch&>(batch).batch;
      },
      stream.get());
  return capsule_of(std::move(stream), "arrow_array_stream", [](PyObject* self) {
    release_capsule<ArrowArrayStream>(self, "arrow_array_stream");
  });
}

}  // namespace infeed::python
