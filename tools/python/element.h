#pragma once

#include <infeed/describe/elements.h>

#include "python/column.h"

/// Elements as Python has them. With the GIL.
namespace infeed::python {

inline nb::object bytes_of(const Record& record) {
  return nb::bytes(record.bytes().data(), record.bytes().size());
}

inline nb::object to_python(ColumnBatch batch) { return make_batch(std::move(batch)); }
inline nb::object to_python(const Record& record) { return bytes_of(record); }
inline nb::object to_python(std::int64_t number) { return nb::int_(number); }
inline nb::object to_python(const std::string& text) {
  return nb::bytes(text.data(), text.size()).attr("decode")("utf-8", "surrogateescape");
}
/// Returns the fields by their extensions, with the sample's key as "__key__", as WebDataset does.
inline nb::object to_python(const TarSample& sample) {
  nb::dict fields;
  fields["__key__"] = to_python(sample.key);
  for (const TarField& field : sample.fields) {
    fields[to_python(field.extension)] = bytes_of(field.content);
  }
  return fields;
}
inline nb::object to_python(const LabeledFile& file) {
  nb::dict fields;
  fields["content"] = bytes_of(file.content);
  fields["label"] = file.label;
  fields["name"] = to_python(file.name);
  return fields;
}

}  // namespace infeed::python
