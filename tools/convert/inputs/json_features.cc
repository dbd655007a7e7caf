#include "convert/inputs/json_features.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/limits.h>

#include "cli/limits.h"
#include "cli/printable.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

constexpr int kShownInErrors = 60;

[[noreturn]] void fail_line(std::string_view line, const std::string& more) {
  throw Error(ErrorCode::data_loss, fmt::format("the line is no JSON object: '{}'{}",
                                                printable(line, kShownInErrors), more));
}

/// Receives the parser's events. Returning false would end the parsing; errors are thrown instead.
class FeatureCollector final : public nlohmann::json_sax<Json> {
 public:
  explicit FeatureCollector(std::string_view line) : line_(line) {}

  std::vector<JsonFeature> take() { return std::move(features_); }

  bool null() override {
    if (list_depth_ > 0) fail_list("null");
    begin_feature();
    features_.back().is_null = true;
    return true;
  }
  bool boolean(bool value) override {
    return add({ValueForm::boolean, value ? "true" : "false", value, value ? 1.0 : 0.0});
  }
  bool number_integer(std::int64_t value) override {
    // A zero without a minus would arrive as unsigned.
    if (value == 0) return add({ValueForm::integer, "-0", 0, -0.0});
    return add({ValueForm::integer, std::to_string(value), value, static_cast<double>(value)});
  }
  bool number_unsigned(std::uint64_t value) override {
    const bool fits = value <= std::uint64_t{INT64_MAX};
    return add({fits ? ValueForm::integer : ValueForm::wide_integer, std::to_string(value),
                fits ? static_cast<std::int64_t>(value) : 0, static_cast<double>(value)});
  }
  bool number_float(double value, const std::string& written) override {
    return add({value_form(written), written, 0, value});
  }
  bool string(std::string& value) override {
    return add({ValueForm::text, std::move(value), 0, 0});
  }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON text has none

  bool start_object(std::size_t /*count*/) override {
    if (list_depth_ > 0) fail_list("an object");
    require_shallow();
    prefix_sizes_.push_back(prefix_.size());
    if (prefix_sizes_.size() > 1) prefix_ = name_ + ".";
    return true;
  }
  bool key(std::string& value) override {
    name_ = prefix_ + value;
    return true;
  }
  bool end_object() override {
    prefix_.resize(prefix_sizes_.back());
    prefix_sizes_.pop_back();
    return true;
  }
  bool start_array(std::size_t /*count*/) override {
    require_object();
    require_shallow();
    if (list_depth_++ == 0) begin_feature();
    return true;
  }
  bool end_array() override {
    --list_depth_;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("column '{}' has '{}', which is beyond float64; correct it, or write "
                      "it as a text, in quotes",
                      printable(name_, kShownInErrors), printable(last_token, kShownInErrors)));
    }
    const std::string_view rest = line_.substr(std::min(std::max(position, 1UL) - 1, line_.size()));
    const bool is_special = rest.starts_with("NaN") || rest.starts_with("Infinity");
    fail_line(line_, fmt::format(", from byte {} on{}", position,
                                 is_special ? " (JSON has no NaN and no Infinity)" : ""));
  }

 private:
  void require_object() const {
    if (prefix_sizes_.empty()) fail_line(line_, "");
  }
  /// Throws if one more object or array is too deep: each repeats the names of those around it.
  void require_shallow() const {
    if (prefix_sizes_.size() + list_depth_ < infeed::limits::json_depth) return;
    fail_line(line_, fmt::format(": {}", detail::json_too_deep_text()));
  }
  void begin_feature() {
    require_object();
    names_bytes_ += name_.size();
    if (const std::string wrong = detail::too_many_json_columns(features_.size() + 1, names_bytes_);
        !wrong.empty()) {
      fail_line(line_, ": " + wrong);
    }
    features_.push_back({.name = name_});
  }
  bool add(JsonValue value) {
    if (list_depth_ == 0) begin_feature();
    if (++values_ > limits::json_line_values) {
      fail_line(line_, fmt::format(": it has more than {} values, which is the limit",
                                   limits::json_line_values));
    }
    features_.back().values.push_back(std::move(value));
    return true;
  }
  [[noreturn]] void fail_list(std::string_view what) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' is a list with {} in it, which no feature can hold",
                            printable(name_, kShownInErrors), what));
  }

  const std::string_view line_;
  std::string prefix_;  // "outer." inside an object with that key
  std::vector<std::size_t> prefix_sizes_;
  std::string name_;
  std::size_t list_depth_ = 0;
  std::size_t values_ = 0;
  std::size_t names_bytes_ = 0;
  std::vector<JsonFeature> features_;
};

void require_different_names(const std::vector<JsonFeature>& features) {
  std::vector<std::string_view> names;
  for (const JsonFeature& feature : features) names.emplace_back(feature.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("column '{}' comes twice in the line",
                                                       printable(*twice, kShownInErrors)));
}

}  // namespace

std::vector<JsonFeature> parse_json_features(std::string_view line) {
  FeatureCollector collector(line);
  if (!Json::sax_parse(line.begin(), line.end(), &collector)) fail_line(line, "");
  std::vector<JsonFeature> features = collector.take();
  require_different_names(features);
  return features;
}

}  // namespace infeed::tools
