#include "infeed/records/inferred_schema.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"

namespace infeed {
namespace {

InferredFeature named(std::string name) {
  InferredFeature feature;
  feature.name = std::move(name);
  return feature;
}

}  // namespace

void ValueRange::add(std::uint64_t value) {
  min = std::min(min, value);
  max = std::max(max, value);
}

void ValueRange::merge(const ValueRange& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

bool InferredFeature::add(const FeatureView& view) {
  if (!kind) kind = view.kind();
  if (*kind != view.kind()) {
    ++other_kinds;
    return false;
  }
  const std::uint64_t count = view.count();
  if (*kind == FeatureKind::bytes) {
    std::vector<std::string_view> list;
    view.append_bytes(list);
    for (const std::string_view value : list) value_bytes.add(value.size());
  }
  ++examples;
  values += count;
  value_count.add(count);
  return true;
}

void InferredFeature::merge(const InferredFeature& later) {
  if (!kind) kind = later.kind;
  if (later.kind && *kind != *later.kind) {
    other_kinds += later.examples + later.other_kinds;
    return;
  }
  examples += later.examples;
  other_kinds += later.other_kinds;
  values += later.values;
  value_count.merge(later.value_count);
  value_bytes.merge(later.value_bytes);
}

bool InferredFeature::is_fixed_length() const {
  return examples != 0 && value_count.is_one_value() &&
         (value_bytes.is_empty() || value_bytes.is_one_value());
}

void SchemaInference::add(std::string_view example) {
  ++records_;
  // Setting the views of all names ever met takes longer the more there are. If they are many, the
  // names of this record get a parser of their own.
  constexpr std::size_t kManyNames = 1024;
  std::optional<ExampleParser> own;
  try {
    // Looks at everything before anything is counted: damage makes the whole record opaque.
    context_.want_features_of(example);
    if (context_.size() > kManyNames) own.emplace().want_features_of(example);
    const ExampleParser& parser = own ? *own : context_;
    views_.resize(parser.size());
    parser.parse(example, views_);
    for (const FeatureView& view : views_) view.count();
    visit_feature_lists(example, [](const FeatureListView& list) {
      FeatureSteps steps(list);
      for (FeatureView step; steps.next(step);) step.count();
    });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) throw;
    ++opaque_records_;
    return;
  }
  while (features_.size() < context_.size()) {
    features_.push_back(named(context_.names()[features_.size()]));
  }
  std::size_t predicted = context_.name_table().first();
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (!views_[i].is_present()) continue;
    features_[own ? context_.name_table().find(views_[i].name(), predicted) : i].add(views_[i]);
  }
  visit_feature_lists(example, [this](const FeatureListView& list) { add_list(list); });
}

InferredFeatureList& SchemaInference::list_of(std::string_view name) {
  const auto known = lists_.find(name);
  if (known != lists_.end()) return known->second;
  const std::string wrong =
      detail::too_many_json_columns(lists_.size() + 1, list_names_bytes_ + name.size());
  if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
  list_names_bytes_ += name.size();
  return lists_[std::string(name)];
}

void SchemaInference::add_list(const FeatureListView& view) {
  InferredFeatureList& list = list_of(view.name());
  std::uint64_t step_count = 0;
  FeatureSteps steps(view);
  for (FeatureView step; steps.next(step); ++step_count) {
    if (step.is_present()) {
      list.steps.add(step);
    } else {
      ++list.empty_steps;
    }
  }
  ++list.examples;
  list.step_count.add(step_count);
}

void SchemaInference::merge(const SchemaInference& later) {
  features_.resize(context_.size());  // features of opaque records have no name yet
  std::unordered_map<std::string, std::size_t> places;
  std::size_t names_bytes = 0;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    features_[i].name = context_.names()[i];
    places.emplace(features_[i].name, i);
    names_bytes += features_[i].name.size();
  }
  for (const InferredFeature& feature : later.features_) {
    const auto [place, is_new] = places.emplace(feature.name, features_.size());
    if (is_new) {
      names_bytes += feature.name.size();
      const std::string wrong = detail::too_many_json_columns(features_.size() + 1, names_bytes);
      if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
      features_.push_back(named(feature.name));
      context_.want(feature.name);
    }
    features_[place->second].merge(feature);
  }
  for (const auto& [name, list] : later.lists_) {
    InferredFeatureList& known = list_of(name);
    known.examples += list.examples;
    known.step_count.merge(list.step_count);
    known.empty_steps += list.empty_steps;
    known.steps.merge(list.steps);
  }
  records_ += later.records_;
  opaque_records_ += later.opaque_records_;
}

InferredSchema SchemaInference::schema() const {
  InferredSchema schema;
  schema.records = records_;
  schema.opaque_records = opaque_records_;
  std::copy_if(features_.begin(), features_.end(), std::back_inserter(schema.features),
               [](const InferredFeature& feature) { return feature.kind.has_value(); });
  std::sort(schema.features.begin(), schema.features.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const auto& [name, list] : lists_) {
    schema.lists.push_back(list);
    schema.lists.back().name = name;
  }
  return schema;
}

InferredSchema infer_schema(const std::vector<std::string>& files, InferSchemaOptions options) {
  SchemaInference inference;
  std::uint64_t left = options.records_max == 0 ? ~std::uint64_t{0} : options.records_max;
  std::array<Record, 256> records;
  for (const std::string& file : files) {
    if (left == 0) break;
    RecordReader reader(file, options.reader);
    while (left != 0) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, records.size()));
      const std::size_t count = reader.read(std::span(records).first(want));
      if (count == 0) break;
      for (std::size_t i = 0; i < count; ++i) inference.add(records.at(i).bytes());
      left -= count;
    }
  }
  return inference.schema();
}

}  // namespace infeed
