#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <numeric>

#include "example_lists.h"
#include "framing.h"
#include "infeed/error.h"
#include "infeed/records/example.h"
#include "wire.h"

namespace infeed {
namespace {

using detail::kFirstBytes;
using detail::kSecondBytes;
using detail::WireReader;

/// Reads both ends of a name: names of one dataset rarely agree in length and in both ends.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (name.size() >= 8) {
    first = detail::load_little<std::uint64_t>(name.data());
    last = detail::load_little<std::uint64_t>(name.data() + name.size() - 8);
  } else if (name.size() >= 4) {
    first = detail::load_little<std::uint32_t>(name.data());
    last = detail::load_little<std::uint32_t>(name.data() + name.size() - 4);
  } else {
    for (const char c : name) first = first << 8 | static_cast<unsigned char>(c);
  }
  std::uint64_t hash = (first + name.size()) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 32) ^ last) * 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 32);
}

/// The name of a map entry: the last one wins, none is the empty name.
std::string_view name_of_entry(std::string_view entry) {
  std::string_view name;
  WireReader fields(entry);
  while (!fields.is_at_end()) {
    const std::uint32_t tag = fields.tag();
    if (tag == kFirstBytes) {
      name = fields.bytes();
    } else {
      fields.skip_value(tag);
    }
  }
  return name;
}

/// Calls visit(entry) for every map entry of an Example, in the order of the record.
template <class Visitor>
void visit_entries(std::string_view example, Visitor&& visit) {
  WireReader message(example);
  while (!message.is_at_end()) {
    const std::uint32_t tag = message.tag();
    if (tag != kFirstBytes) {
      message.skip_value(tag);
      continue;
    }
    WireReader features(message.bytes());
    while (!features.is_at_end()) {
      const std::uint32_t inner = features.tag();
      if (inner == kFirstBytes) {
        visit(features.bytes());
      } else {
        features.skip_value(inner);
      }
    }
  }
}

}  // namespace

/// One map entry. The usual form is name, value, nothing else, the value being one list; anything
/// else is legal, rare, and found by the general walk.
struct ExampleParser::Entry {
  explicit Entry(std::string_view entry) : whole(entry) {
    const auto byte = [entry](std::size_t i) { return static_cast<std::uint8_t>(entry[i]); };
    if (entry.size() >= 2 && byte(0) == kFirstBytes && byte(1) < 0x80 &&
        std::size_t{2} + byte(1) < entry.size() && byte(2U + byte(1)) == kSecondBytes) {
      name = entry.substr(2, byte(1));
      WireReader rest(entry.substr(3U + byte(1)));
      value = rest.bytes();
      is_usual = rest.is_at_end();
    }
    if (!is_usual) name = name_of_entry(entry);
  }

  /// Tells `view` what is in this entry.
  void describe_to(FeatureView& view) const {
    if (is_usual) {
      if (value.empty()) {
        view.present_ = false;
        return;
      }
      const std::uint8_t tag = static_cast<std::uint8_t>(value[0]);
      if (const auto kind = detail::kind_of_tag(tag)) {
        WireReader rest(value.substr(1));
        const std::string_view list = rest.bytes();
        if (rest.is_at_end()) {
          view.data_ = list.data();
          view.size_ = list.size();
          view.kind_ = *kind;
          view.present_ = true;
          view.in_pieces_ = false;
          return;
        }
      }
    }
    const auto found = detail::walk_lists(whole, [](std::size_t, std::string_view) {});
    view.present_ = found.kind.has_value();
    view.kind_ = found.kind.value_or(FeatureKind::bytes);
    view.data_ = whole.data();
    view.size_ = whole.size();
    view.in_pieces_ = true;
  }

  std::string_view whole;
  std::string_view name;
  std::string_view value;
  bool is_usual = false;
};

ExampleParser::ExampleParser(const std::vector<std::string>& names) {
  for (const std::string& name : names) want(name);
}

std::size_t ExampleParser::want(std::string name) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("feature '{}' is asked for twice", name));
  }
  names_.push_back(std::move(name));
  rebuild_table();
  return names_.size() - 1;
}

void ExampleParser::rebuild_table() {
  std::vector<std::uint32_t> sorted(names_.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(),
            [this](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
  first_ = sorted.front();
  successors_.assign(names_.size(), 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    successors_[sorted[i]] = sorted[(i + 1) % sorted.size()];
  }
  table_.assign(std::bit_ceil(names_.size() * 4), Slot{0, 0});
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::uint64_t hash = hash_name(names_[i]);
    std::size_t at = hash & (table_.size() - 1);
    while (table_[at].index_plus_one != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = {hash, static_cast<std::uint32_t>(i + 1)};
  }
}

/// Index of the name, or size() when nobody wants it.
std::size_t ExampleParser::find(std::string_view name) const {
  const std::uint64_t hash = hash_name(name);
  for (std::size_t at = hash & (table_.size() - 1); table_[at].index_plus_one != 0;
       at = (at + 1) & (table_.size() - 1)) {
    const std::size_t index = table_[at].index_plus_one - 1;
    if (table_[at].hash == hash && names_[index] == name) return index;
  }
  return names_.size();
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
    out[i].name_ = names_[i];
    out[i].record_ = record;
  }
  std::size_t not_wanted = 0;
  if (names_.empty()) {
    visit_entries(example, [&](std::string_view) { ++not_wanted; });
    return not_wanted;
  }
  std::size_t predicted = first_;
  visit_entries(example, [&](std::string_view bytes) {
    const Entry entry(bytes);
    // Records are usually written sorted, or at least all in one order: guess before hashing.
    const std::size_t index = names_[predicted] == entry.name ? predicted : find(entry.name);
    if (index == names_.size()) {
      ++not_wanted;
      return;
    }
    predicted = successors_[index];
    entry.describe_to(out[index]);
  });
  return not_wanted;
}

std::vector<FeatureSummary> summarise_example(std::string_view example) {
  std::map<std::string, FeatureSummary> by_name;  // later duplicates replace earlier ones
  visit_entries(example, [&by_name](std::string_view entry) {
    const std::string name(name_of_entry(entry));
    by_name[name] = {name, std::nullopt, 0};
  });
  std::vector<std::string> names;
  for (const auto& [name, summary] : by_name) names.push_back(name);
  const ExampleParser parser(names);
  std::vector<FeatureView> views(names.size());
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
  return summaries;
}

}  // namespace infeed
