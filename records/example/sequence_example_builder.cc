#include <algorithm>
#include <fmt/format.h>

#include "example/wire_writing.h"
#include "infeed/error.h"
#include "infeed/records/sequence_example.h"

namespace infeed {

FeatureListBuilder& FeatureListBuilder::nothing() {
  steps_.begin_feature({});
  steps_.features_.back().end = steps_.scratch_.size();
  return *this;
}

FeatureListBuilder& SequenceExampleBuilder::list(std::string name) {
  lists_.emplace_back().name_ = std::move(name);
  return lists_.back();
}

std::string SequenceExampleBuilder::encode() const {
  std::string out;
  encode_to(out);
  return out;
}

void SequenceExampleBuilder::encode_to(std::string& out) const {
  context_.encode_to(out);  // the context has the same field as an Example's features
  if (lists_.empty()) return;
  std::vector<const FeatureListBuilder*> sorted;
  for (const FeatureListBuilder& list : lists_) sorted.push_back(&list);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->name_ < b->name_; });
  std::string map;
  std::string list;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& name = sorted[i]->name_;
    if (i > 0 && sorted[i - 1]->name_ == name) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("feature list '{}' was given twice", name));
    }
    list.clear();
    const ExampleBuilder& steps = sorted[i]->steps_;
    for (const auto& step : steps.features_) {
      detail::append_field(
          list, detail::kFirstField,
          std::string_view(steps.scratch_).substr(step.value_begin, step.end - step.value_begin));
    }
    map.push_back(detail::kFirstField);
    detail::append_varint(map, detail::field_size(name.size()) + detail::field_size(list.size()));
    detail::append_field(map, detail::kFirstField, name);
    detail::append_field(map, detail::kSecondField, list);
  }
  detail::append_field(out, detail::kSecondField, map);
}

}  // namespace infeed
