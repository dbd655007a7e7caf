#include "convert/column_statistics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/json_integers.h>

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kManyNames = 1024;

template <class T>
void widen(T& lowest, T& highest, T low, T high, bool is_first) {
  lowest = is_first ? low : std::min(lowest, low);
  highest = is_first ? high : std::max(highest, high);
}

void add_integer(Column& column, std::int64_t value) {
  widen(column.integer_min, column.integer_max, value, value, column.values == 0);
  column.sum += static_cast<double>(value);
  ++column.values;
}

void add_float(Column& column, double value) {
  if (std::isfinite(value)) {
    widen(column.float_min, column.float_max, value, value, column.finite() == 0);
    column.sum += value;
  } else {
    ++column.not_finite;
  }
  ++column.values;
}

void merge_counts(ColumnCounts& into, const ColumnCounts& later) {
  into.empty += later.empty;
  into.booleans += later.booleans;
  if (into.rounded == 0) into.first_rounded = later.first_rounded;
  into.rounded += later.rounded;
}

void merge_values(Column& into, const Column& later) {
  if (later.examples == 0) {
    into.other_kinds += later.other_kinds;
    return;
  }
  if (into.examples == 0) {
    const Column before = into;
    into = later;
    into.source = before.source;
    into.is_declared = before.is_declared;
    into.other_kinds += before.other_kinds;
    return;
  }
  if (into.kind != later.kind) {
    into.other_kinds += later.examples + later.other_kinds;
    return;
  }
  widen(into.values_min, into.values_max, later.values_min, later.values_max, false);
  if (later.values > 0) {
    widen(into.integer_min, into.integer_max, later.integer_min, later.integer_max,
          into.values == 0);
  }
  if (later.finite() > 0) {
    widen(into.float_min, into.float_max, later.float_min, later.float_max, into.finite() == 0);
  }
  into.examples += later.examples;
  into.values += later.values;
  into.not_finite += later.not_finite;
  into.sum += later.sum;
  into.other_kinds += later.other_kinds;
}

void merge_columns(Column& into, const Column& later) {
  merge_values(into, later);
  merge_counts(into.source, later.source);
  into.is_declared = into.is_declared || later.is_declared;
}

/// Writes only counts above 0: most columns have none.
void add_counts(const ColumnCounts& counts, Json& json) {
  if (counts.empty > 0) json["empty"] = counts.empty;
  if (counts.booleans > 0) json["booleans"] = counts.booleans;
  if (counts.rounded == 0) return;
  json["rounded"] = counts.rounded;
  json["first_rounded"] = detail::utf8_name(counts.first_rounded);
}

Json to_json(const Column& column) {
  Json json{{"name", detail::utf8_name(column.name)},
            {"kind", to_string(column.kind)},
            {"examples", column.examples},
            {"values", column.values},
            {"values_min", column.values_min},
            {"values_max", column.values_max},
            {"other_kinds", column.other_kinds},
            {"sum", column.sum}};
  add_counts(column.source, json);
  if (column.kind == FeatureKind::floats) {
    json["not_finite"] = column.not_finite;
    if (column.finite() > 0) {
      json["min"] = column.float_min;
      json["max"] = column.float_max;
    }
  } else if (column.values > 0) {
    const bool is_bytes = column.kind == FeatureKind::bytes;
    json[is_bytes ? "bytes_min" : "min"] = column.integer_min;
    json[is_bytes ? "bytes_max" : "max"] = column.integer_max;
  }
  return json;
}

FeatureKind parse_kind(const std::string& name) {
  for (const FeatureKind kind : {FeatureKind::floats, FeatureKind::integers}) {
    if (name == to_string(kind)) return kind;
  }
  return FeatureKind::bytes;
}

Column column_from_json(const Json& json) {
  Column column;
  column.name = detail::bytes_of_utf8_name(json.at("name").get<std::string>());
  column.kind = parse_kind(json.at("kind").get<std::string>());
  column.examples = detail::json_integer<std::uint64_t>(json, "examples");
  column.values = detail::json_integer<std::uint64_t>(json, "values");
  column.values_min = detail::json_integer<std::uint64_t>(json, "values_min");
  column.values_max = detail::json_integer<std::uint64_t>(json, "values_max");
  column.other_kinds = detail::json_integer<std::uint64_t>(json, "other_kinds");
  column.sum = json.at("sum").get<double>();
  column.source.empty = detail::json_integer(json, "empty", std::uint64_t{0});
  column.source.booleans = detail::json_integer(json, "booleans", std::uint64_t{0});
  column.source.rounded = detail::json_integer(json, "rounded", std::uint64_t{0});
  column.source.first_rounded =
      detail::bytes_of_utf8_name(json.value("first_rounded", std::string()));
  column.is_declared = true;
  if (column.kind == FeatureKind::floats) {
    column.not_finite = detail::json_integer<std::uint64_t>(json, "not_finite");
    column.float_min = json.value("min", 0.0);
    column.float_max = json.value("max", 0.0);
  } else {
    const bool is_bytes = column.kind == FeatureKind::bytes;
    column.integer_min =
        detail::json_integer(json, is_bytes ? "bytes_min" : "min", std::int64_t{0});
    column.integer_max =
        detail::json_integer(json, is_bytes ? "bytes_max" : "max", std::int64_t{0});
  }
  return column;
}

Column named(std::string name) {
  Column column;
  column.name = std::move(name);
  return column;
}

}  // namespace

ColumnStatistics::ColumnStatistics(const std::vector<std::string>& names)
    : names_are_known_(!names.empty()), parser_(names) {
  for (const std::string& name : names) {
    count_name(name);
    columns_.push_back(named(name));
  }
  views_.resize(names.size());
}

void ColumnStatistics::count_name(const std::string& name) {
  const std::string wrong =
      detail::too_many_json_columns(columns_.size() + 1, names_bytes_ + name.size());
  if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
  names_bytes_ += name.size();
}

void ColumnStatistics::learn_names(std::string_view example) {
  parser_.want_features_of(example);
  while (columns_.size() < parser_.size()) {
    const std::string& name = parser_.names()[columns_.size()];
    count_name(name);
    columns_.push_back(named(name));
  }
  views_.resize(columns_.size());
}

void ColumnStatistics::add_values(Column& column, const FeatureView& view) {
  const std::uint64_t before = column.values;
  if (column.examples == 0) column.kind = view.kind();
  if (column.kind != view.kind()) {
    ++column.other_kinds;
    return;
  }
  switch (column.kind) {
    case FeatureKind::bytes:
      bytes_.clear();
      view.append_bytes(bytes_);
      for (const std::string_view value : bytes_) {
        add_integer(column, static_cast<std::int64_t>(value.size()));
      }
      break;
    case FeatureKind::integers:
      integers_.clear();
      view.append_integers(integers_);
      for (const std::int64_t value : integers_) add_integer(column, value);
      break;
    case FeatureKind::floats:
      floats_.clear();
      view.append_floats(floats_);
      for (const double value : floats_) add_float(column, value);
      break;
  }
  const std::uint64_t count = column.values - before;
  widen(column.values_min, column.values_max, count, count, column.examples == 0);
  ++column.examples;
}

/// Parses an example by its own names: setting the views of all names ever met takes ever longer.
void ColumnStatistics::add_by_own_names(std::string_view example) {
  if (!names_are_known_) learn_names(example);
  ExampleParser own;
  own.want_features_of(example);
  std::vector<FeatureView> views(own.size());
  own.parse(example, views);
  std::size_t predicted = parser_.name_table().first();
  for (const FeatureView& view : views) {
    const std::size_t column = parser_.name_table().find(view.name(), predicted);
    if (view.is_present() && column < columns_.size()) add_values(columns_[column], view);
  }
}

void ColumnStatistics::add(std::string_view example) {
  ++examples_;
  try {
    // An example that is so short has few of the columns. Files of 30,000 samples with a column each took 7 s.
    const bool has_few = example.size() < names_bytes_ / 32;
    if (columns_.size() > kManyNames && (!names_are_known_ || has_few)) {
      add_by_own_names(example);
      return;
    }
    if (parser_.parse(example, views_) > 0 && !names_are_known_) {
      learn_names(example);
      parser_.parse(example, views_);
    }
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (views_[i].is_present()) add_values(columns_[i], views_[i]);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) throw;
    ++opaque_records_;
  }
}

Column& ColumnStatistics::find_or_add(const std::string& name) {
  for (; indexed_ < columns_.size(); ++indexed_) places_.emplace(columns_[indexed_].name, indexed_);
  const auto known = places_.find(name);
  if (known != places_.end()) return columns_[known->second];
  count_name(name);
  parser_.want(name);
  columns_.push_back(named(name));
  views_.resize(columns_.size());
  return columns_.back();
}

void ColumnStatistics::add_counts(const std::vector<ColumnCounts>& counts) {
  for (const ColumnCounts& column : counts) merge_counts(find_or_add(column.name).source, column);
}

void ColumnStatistics::declare(const std::vector<ColumnKind>& kinds) {
  for (const ColumnKind& declared : kinds) {
    Column& column = find_or_add(declared.name);
    column.is_declared = true;
    if (column.examples == 0) column.kind = declared.kind;
  }
}

void ColumnStatistics::merge(const ColumnStatistics& later) {
  for (const Column& column : later.columns_) {
    const std::size_t before = columns_.size();
    Column& known = find_or_add(column.name);
    if (columns_.size() > before) {
      known = column;
    } else {
      merge_columns(known, column);
    }
  }
  views_.resize(columns_.size());
  examples_ += later.examples_;
  opaque_records_ += later.opaque_records_;
}

std::vector<Column> ColumnStatistics::columns() const {
  std::vector<Column> seen;
  std::copy_if(columns_.begin(), columns_.end(), std::back_inserter(seen),
               [](const Column& column) {
                 return column.is_declared || column.examples + column.other_kinds > 0;
               });
  std::sort(seen.begin(), seen.end(),
            [](const Column& a, const Column& b) { return a.name < b.name; });
  return seen;
}

nlohmann::json ColumnStatistics::to_json() const {
  Json list = Json::array();
  for (const Column& column : columns()) list.push_back(tools::to_json(column));
  return {{"examples", examples_}, {"opaque_records", opaque_records_}, {"columns", list}};
}

ColumnStatistics ColumnStatistics::from_json(const nlohmann::json& json) {
  ColumnStatistics statistics;
  for (const Json& item : json.at("columns")) {
    Column column = column_from_json(item);
    statistics.count_name(column.name);
    statistics.columns_.push_back(std::move(column));
    statistics.parser_.want(statistics.columns_.back().name);
  }
  statistics.views_.resize(statistics.columns_.size());
  statistics.examples_ = detail::json_integer<std::uint64_t>(json, "examples");
  statistics.opaque_records_ = detail::json_integer<std::uint64_t>(json, "opaque_records");
  return statistics;
}

}  // namespace infeed::tools
