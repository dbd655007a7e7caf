#include <infeed/pipeline/reshard_checkpoint.h>

#include "python/dataset.h"
#include "python/element.h"
#include "python/signals.h"

namespace infeed::python {
namespace {

nb::tuple place_of(const TracedPlace& row) {
  if (!row.place) {
    return nb::make_tuple(nb::none(), nb::none(), nb::none(), 1, to_python(row.why()));
  }
  const RecordPlace& place = *row.place;
  return nb::make_tuple(to_python(place.file), place.record, place.offset, place.count, nb::none());
}

template <class T>
nb::tuple traced(const Dataset<T>& dataset, std::uint64_t step, IterateOptions options) {
  std::stop_source stop;
  options.stop = stop.get_token();
  std::optional<TracedElement<T>> found;
  {
    const nb::gil_scoped_release without_gil;
    found.emplace(answering_signals(stop, [&] { return dataset.at(step, options); }));
  }
  nb::list places;
  for (const TracedPlace& row : found->rows) places.append(place_of(row));
  return nb::make_tuple(to_python(std::move(found->element)), places);
}

}  // namespace

nb::tuple element_at(const describe::Description& description, std::uint64_t step,
                     const nb::dict& options) {
  check_can_be_iterated(description);
  return std::visit(
      [&](const auto& dataset) { return traced(dataset, step, iterate_options(options)); },
      description.elements().dataset);
}

std::string resharded(const describe::Description& description, const std::string& checkpoint) {
  const Checkpoint from = Checkpoint::from_text(checkpoint);
  return left_behind_by_signals([from, description] {  // reads the files' checksums
    return std::visit(
        [&](const auto& dataset) { return reshard_checkpoint(from, dataset).to_text(); },
        description.elements().dataset);
  });
}

}  // namespace infeed::python
