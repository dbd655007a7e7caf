#include "infeed/records/detail/feature_codec.h"

#include <cstring>
#include <fmt/format.h>

#include "infeed/records/sequence_example_schema.h"

namespace infeed::detail {

bool is_missing_or_empty(const FeatureView& view) {
  return !view.is_present() || view.count() == 0;
}

void fail_missing(const FeatureView& view, std::string_view example) {
  std::string list;
  constexpr std::size_t kNamesMax = 12;
  const auto features = summarise_example(example);
  for (std::size_t i = 0; i < features.size() && i < kNamesMax; ++i) {
    list += fmt::format("{}'{}' ({})", i == 0 ? "" : ", ", features[i].name,
                        features[i].kind ? to_string(*features[i].kind) : "no list");
  }
  if (features.size() > kNamesMax) list += ", ...";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("feature '{}' is required but could not be found; the record has {}",
                          view.name(), list.empty() ? "no features" : list));
}

void fail_missing_list(const FeatureListView& list, std::string_view example) {
  std::string found;
  constexpr std::size_t kNamesMax = 12;
  const auto lists = summarise_feature_lists(example);
  for (std::size_t i = 0; i < lists.size() && i < kNamesMax; ++i) {
    found += fmt::format("{}'{}' ({} step{}{})", i == 0 ? "the feature lists " : ", ",
                         lists[i].name, lists[i].steps, lists[i].steps == 1 ? "" : "s",
                         lists[i].kind ? fmt::format(" of {}", to_string(*lists[i].kind)) : "");
  }
  if (lists.size() > kNamesMax) found += ", ...";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("feature list '{}' is required but could not be found; the record has "
                          "{}; where it may be missing, say {{.allow_missing = true}}",
                          list.name(), found.empty() ? "no feature lists" : found));
}

void fail_empty_step(const FeatureView& step) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} holds no list of values", step.subject()));
}

std::vector<std::size_t> ends_of_rows(const FeatureView& partition, bool has_splits,
                                      const FeatureView& view, std::size_t values) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} can't cut the {} values of {}: {}", partition.subject(), values,
                            view.subject(), why));
  };
  std::vector<std::int64_t> cuts;
  if (partition.is_present()) {
    partition.append_integers(cuts);
  } else if (values != 0) {
    refuse("it could not be found");
  }
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (has_splits && i == 0) {
      if (cuts[0] != 0) refuse(fmt::format("its first split is {}, not 0", cuts[0]));
      continue;
    }
    if (has_splits && cuts[i] < cuts[i - 1]) {
      refuse(fmt::format("its split {} is {}, behind {}", i, cuts[i], cuts[i - 1]));
    }
    const std::int64_t length = has_splits ? cuts[i] - cuts[i - 1] : cuts[i];
    if (length < 0) refuse(fmt::format("its length {} is {}", i, length));
    if (static_cast<std::uint64_t>(length) > values - end) {
      refuse(fmt::format("sequence {} would end behind them", ends.size()));
    }
    end += static_cast<std::size_t>(length);
    ends.push_back(end);
  }
  if (end != values) refuse(fmt::format("its sequences have only {}", end));
  return ends;
}

void fail_columns(std::size_t given, const std::vector<std::string>& names) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} columns are given, but the schema has {}: '{}'", given, names.size(),
                          fmt::join(names, "', '")));
}

void rethrow_with_place(const Record& record) {
  try {
    throw;
  } catch (Error& error) {
    if (!record.file().empty()) error.at_file(std::string(record.file()));
    if (record.offset()) error.at_offset(*record.offset());
    if (record.number()) error.at_record(*record.number());
    throw;
  }
}

void copy_exactly(const FeatureView& view, void* out, std::size_t size_bytes) {
  const std::string_view bytes = view.single_bytes();
  if (bytes.size() != size_bytes) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} has {} bytes, but {} are wanted",
                                                         view.subject(), bytes.size(), size_bytes));
  }
  if (size_bytes != 0) std::memcpy(out, bytes.data(), size_bytes);
}

std::size_t count_rows(const FeatureView& view, std::size_t row_values) {
  const std::size_t count = view.count();
  if (count % row_values != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} holds {} values, which is no multiple of the {} of a row",
                            view.subject(), count, row_values));
  }
  return count / row_values;
}

}  // namespace infeed::detail
