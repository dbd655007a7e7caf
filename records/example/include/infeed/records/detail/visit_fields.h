#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "infeed/records/detail/schema_fields.h"
#include "infeed/records/detail/usual_form.h"
#include "infeed/records/example.h"

/// Finds the features of a schema's fields in a record.
namespace infeed::detail {

/// Returns the record of the bytes, if it is known.
inline const Record* record_of(const Record& record) { return &record; }
inline const Record* record_of(std::string_view) { return nullptr; }

/// Parses the example and calls run() with the views of its features. Few views lie on the stack,
/// where each record has to clear them.
template <class Run>
void parse_views(const ExampleParser& parser, const auto& example, Run&& run) {
  const auto parse = [&](std::span<FeatureView> views) {
    parser.parse(example, views);
    run(views);
  };
  if (parser.size() <= 4) {
    std::array<FeatureView, 4> views;
    parse(std::span(views).first(parser.size()));
  } else if (parser.size() <= 64) {
    std::array<FeatureView, 64> views;
    parse(std::span(views).first(parser.size()));
  } else {
    std::vector<FeatureView> views(parser.size());
    parse(views);
  }
}

/// The places of a field's views in the parser.
struct FieldViews {
  std::size_t values;
  std::optional<std::size_t> partition = std::nullopt;
};

/// Calls visit(field, its index, kind, list) -> bool for every field of a record in the usual form.
/// Returns false if it isn't in that form. Each field must want one feature.
template <class T, class Visitor>
bool visit_usual_fields(const ExampleParser& parser, std::string_view example,
                        const std::vector<std::shared_ptr<const SchemaField<T>>>& fields,
                        Visitor&& visit) {
  return visit_usual_features(parser, example,
                              [&](std::size_t i, FeatureKind kind, std::string_view list) {
                                return visit(*fields[i], i, kind, list);
                              });
}

/// Parses the example and calls visit(field, its index, its view) for every field. The view of its
/// partition stands behind its own.
template <class T, class Visitor>
void visit_fields(const ExampleParser& parser, const auto& example,
                  const std::vector<std::shared_ptr<const SchemaField<T>>>& fields,
                  const std::vector<FieldViews>& places, Visitor&& visit) {
  parse_views(parser, example, [&](std::span<const FeatureView> views) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto& [values, partition] = places[i];
      if (!partition || *partition == values + 1) {
        visit(*fields[i], i, views[values]);
      } else {
        const std::array<FeatureView, 2> both = {views[values], views[*partition]};
        visit(*fields[i], i, both[0]);
      }
    }
  });
}

}  // namespace infeed::detail
