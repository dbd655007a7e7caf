#include <fmt/format.h>
#include <set>

#include "example/example_entries.h"
#include "infeed/error.h"
#include "infeed/records/sequence_example.h"

namespace infeed {

std::size_t FeatureListView::size() const {
  FeatureSteps steps(*this);
  std::size_t count = 0;
  for (FeatureView step; steps.next(step);) ++count;
  return count;
}

FeatureSteps::FeatureSteps(const FeatureListView& list) : name_(list.name_), record_(list.record_) {
  if (!list.present_) return;
  (list.in_pieces_ ? entry_ : list_) = list.data_;
}

bool FeatureSteps::next(FeatureView& step) {
  std::string_view feature;
  if (!next_bytes(feature)) return false;
  step.name_ = name_;
  step.record_ = record_;
  step.step_ = step_++;
  step.describe_feature(feature);
  return true;
}

bool FeatureSteps::next_bytes(std::string_view& feature) {
  while (true) {
    detail::WireReader list(list_);
    while (!list.is_at_end()) {
      const std::uint32_t tag = list.tag();
      if (tag == detail::kFirstBytes) {
        feature = list.bytes();
        list_ = list.rest();
        return true;
      }
      list.skip_value(tag);
    }
    list_ = {};
    detail::WireReader entry(entry_);
    while (list_.empty() && !entry.is_at_end()) {
      const std::uint32_t tag = entry.tag();
      if (tag == detail::kSecondBytes) {
        list_ = entry.bytes();
      } else {
        entry.skip_value(tag);
      }
    }
    entry_ = entry.rest();
    if (list_.empty()) return false;
  }
}

SequenceExampleParser::SequenceExampleParser(const std::vector<std::string>& context_names,
                                             const std::vector<std::string>& list_names)
    : context_(context_names) {
  for (const std::string& name : list_names) want_list(name);
}

void SequenceExampleParser::parse(std::string_view example, std::span<FeatureView> context,
                                  std::span<FeatureListView> lists) const {
  parse(example, nullptr, context, lists);
}

void SequenceExampleParser::parse(const Record& example, std::span<FeatureView> context,
                                  std::span<FeatureListView> lists) const {
  parse(example.bytes(), &example, context, lists);
}

void SequenceExampleParser::parse(std::string_view example, const Record* record,
                                  std::span<FeatureView> context,
                                  std::span<FeatureListView> lists) const {
  if (lists.size() != lists_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is room for {} feature lists, but {} are asked for",
                            lists.size(), lists_.size()));
  }
  context_.parse(example, record, context);  // it lies where an Example's features do
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i] = FeatureListView();
    lists[i].name_ = lists_.names()[i];
    lists[i].record_ = record;
  }
  std::size_t predicted = lists_.first();
  detail::visit_entries(example, detail::kSecondBytes, [&](std::string_view bytes) {
    if (lists.empty()) return;
    const detail::Entry entry(bytes);
    const std::size_t index = lists_.find(entry.name, predicted);
    if (index == lists_.size()) return;
    lists[index].present_ = true;
    lists[index].in_pieces_ = !entry.is_usual;
    lists[index].data_ = entry.is_usual ? entry.value : entry.whole;
  });
}

void visit_feature_lists(std::string_view example,
                         const std::function<void(const FeatureListView&)>& visit) {
  std::set<std::string> names;
  detail::visit_entries(example, detail::kSecondBytes, [&names](std::string_view entry) {
    names.emplace(detail::Entry(entry).name);
  });
  const SequenceExampleParser parser({}, {names.begin(), names.end()});
  std::vector<FeatureListView> lists(names.size());
  parser.parse(example, {}, lists);
  for (const FeatureListView& list : lists) visit(list);
}

std::vector<FeatureListSummary> summarise_feature_lists(std::string_view example) {
  std::vector<FeatureListSummary> summaries;
  visit_feature_lists(example, [&summaries](const FeatureListView& list) {
    FeatureListSummary summary{std::string(list.name()), list.size(), std::nullopt};
    FeatureSteps steps(list);
    for (FeatureView step; !summary.kind && steps.next(step);) {
      if (step.is_present()) summary.kind = step.kind();
    }
    summaries.push_back(std::move(summary));
  });
  return summaries;
}

}  // namespace infeed
