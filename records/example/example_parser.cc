#include <algorithm>
#include <fmt/format.h>

#include "example/example_entries.h"
#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/example.h"

namespace infeed {

ExampleParser::ExampleParser(const std::vector<std::string>& names) {
  for (const std::string& name : names) want(name);
}

void ExampleParser::want_features_of(std::string_view example) {
  std::size_t predicted = names_.first();
  detail::visit_entries(example, detail::kFirstBytes, [&](std::string_view bytes) {
    const std::string_view name = detail::Entry(bytes).name;
    if (names_.size() == 0 || names_.find(name, predicted) == names_.size()) {
      const std::string wrong =
          detail::too_many_json_columns(names_.size() + 1, names_bytes_ + name.size());
      if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
      want(std::string(name));
    }
  });
}

std::size_t ExampleParser::parse(std::string_view example, std::span<FeatureView> out) const {
  return parse(example, nullptr, out);
}

std::size_t ExampleParser::parse(const Record& example, std::span<FeatureView> out) const {
  return parse(example.bytes(), &example, out);
}

std::size_t ExampleParser::parse(std::string_view example, const Record* record,
                                 std::span<FeatureView> out) const {
  if (out.size() != names_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is room for {} features, but {} are asked for", out.size(),
                            names_.size()));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].present_ = false;
    out[i].name_ = names_.names()[i];
    out[i].record_ = record;
    out[i].step_ = FeatureView::kNoStep;
  }
  std::size_t not_wanted = 0;
  if (names_.size() == 0) {
    detail::visit_entries(example, detail::kFirstBytes, [&](std::string_view) { ++not_wanted; });
    return not_wanted;
  }
  std::size_t predicted = names_.first();
  detail::visit_entries(example, detail::kFirstBytes, [&](std::string_view bytes) {
    const detail::Entry entry(bytes);
    const std::size_t index = names_.find(entry.name, predicted);
    if (index == names_.size()) {
      ++not_wanted;
      return;
    }
    FeatureView& view = out[index];
    if (entry.is_usual) {
      view.describe_feature(entry.value);
      return;
    }
    detail::WalkedLists walked;
    detail::walk_entry(entry.whole, walked, [](std::size_t, std::string_view) {});
    view.present_ = walked.kind.has_value();
    view.kind_ = walked.kind.value_or(FeatureKind::bytes);
    view.data_ = entry.whole.data();
    view.size_ = entry.whole.size();
    view.holds_ = FeatureView::Holds::map_entry;
  });
  return not_wanted;
}

std::vector<FeatureSummary> summarise_example(std::string_view example) {
  ExampleParser parser;
  parser.want_features_of(example);
  std::vector<FeatureView> views(parser.size());
  parser.parse(example, views);
  std::vector<FeatureSummary> summaries;
  for (const FeatureView& view : views) {
    FeatureSummary summary{std::string(view.name()), std::nullopt, 0};
    if (view.is_present()) {
      summary.kind = view.kind();
      summary.count = view.count();
    }
    summaries.push_back(std::move(summary));
  }
  std::sort(summaries.begin(), summaries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return summaries;
}

}  // namespace infeed
