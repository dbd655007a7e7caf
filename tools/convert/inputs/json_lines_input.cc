#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <infeed/error.h>

#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

Json parse_object(std::string_view row) {
  Json json = Json::parse(row.begin(), row.end(), nullptr, false);
  if (json.is_object()) return json;
  throw Error(ErrorCode::data_loss,
              fmt::format("the line is no JSON object: '{}'", row.substr(0, 60)));
}

/// Calls `visit(name, value)` for what becomes a feature: "outer.inner" for nested objects.
template <class Visit>
void visit_features(const std::string& prefix, const Json& object, const Visit& visit) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      visit_features(name, value, visit);
    } else if (!value.is_null()) {
      visit(name, value);
    }
  }
}

/// The numbers and texts of a list, in their order; lists of lists row by row.
void gather(const Json& value, const std::string& name, std::vector<const Json*>& out) {
  if (value.is_array()) {
    for (const Json& item : value) gather(item, name, out);
  } else if (value.is_object() || value.is_null()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is a list with {} in it, which no feature can hold", name,
                            value.is_null() ? "null" : "an object"));
  } else {
    out.push_back(&value);
  }
}

FeatureKind kind_of(const Json& scalar) {
  if (scalar.is_string()) return FeatureKind::bytes;
  return scalar.is_number_float() ? FeatureKind::floats : FeatureKind::integers;
}

FeatureKind wider(FeatureKind a, FeatureKind b) {
  if (a == b) return a;
  const bool has_bytes = a == FeatureKind::bytes || b == FeatureKind::bytes;
  return has_bytes ? FeatureKind::bytes : FeatureKind::floats;
}

[[noreturn]] void fail_kind(const std::string& name, const Json& value, FeatureKind kind) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' has {}, but takes {} as other lines have them; correct it, or give "
                          "it another kind with --schema",
                          name, value.dump().substr(0, 40), to_string(kind)));
}

std::int64_t as_integer(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const bool fits =
      !value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
  if (!value.is_number_integer() || !fits) fail_kind(name, value, FeatureKind::integers);
  return value.get<std::int64_t>();
}

float as_float(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number()) fail_kind(name, value, FeatureKind::floats);
  return static_cast<float>(value.get<double>());
}

class JsonLinesReader final : public FeatureReader {
 public:
  JsonLinesReader(const RowFiles& rows, const ColumnKinds& kinds)
      : files_(rows), rows_(rows), kinds_(kinds) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const std::string_view row = rows_.read(index);
    try {
      visit_features("", parse_object(row), [&](const std::string& name, const Json& value) {
        add_feature(name, value, builder);
      });
    } catch (const Error& error) {
      const RowFiles::Place place = files_.place_of(index);
      throw Error(error.code(), error.message())
          .at_file(files_.file(place.file).file())
          .at_record(place.row);
    }
  }

  void add_feature(const std::string& name, const Json& value, ExampleBuilder& builder) {
    values_.clear();
    gather(value, name, values_);
    const auto known = kinds_.find(name);
    // A name that the sampled lines didn't have: by its own values.
    FeatureKind kind = values_.empty() ? FeatureKind::bytes : kind_of(*values_.front());
    for (const Json* item : values_) kind = wider(kind, kind_of(*item));
    if (known != kinds_.end()) kind = known->second;
    switch (kind) {
      case FeatureKind::bytes:
        add_bytes(name, builder);
        break;
      case FeatureKind::integers: {
        std::vector<std::int64_t> integers;
        for (const Json* item : values_) integers.push_back(as_integer(name, *item));
        builder.integers(name, integers);
        break;
      }
      case FeatureKind::floats: {
        std::vector<float> floats;
        for (const Json* item : values_) floats.push_back(as_float(name, *item));
        builder.floats(name, floats);
        break;
      }
    }
  }

  void add_bytes(const std::string& name, ExampleBuilder& builder) {
    std::vector<std::string> texts;
    for (const Json* item : values_) {
      texts.push_back(item->is_string() ? item->get<std::string>() : item->dump());
    }
    builder.bytes(name, texts);
  }

  const RowFiles& files_;
  RowFilesReader rows_;
  const ColumnKinds& kinds_;
  std::vector<const Json*> values_;
};

class JsonLinesInput final : public ExampleInput {
 public:
  JsonLinesInput(const Files& files, const InputOptions& options)
      : rows_(files, Quotes::none, '\n', 0) {
    infer_kinds();
    for (const auto& [name, kind] : options.kinds) kinds_[name] = kind;
  }

  std::uint64_t size() const override { return rows_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<JsonLinesReader>(rows_, kinds_);
  }
  std::vector<std::string> columns() const override { return {}; }
  std::string describe() const override { return fmt::format("{} lines of JSON", size()); }
  std::string name_of(std::uint64_t index) const override { return rows_.name_of(index); }
  std::vector<InputFile> files() const override { return rows_.files(); }
  std::string settings() const override {
    std::string text;
    for (const auto& [name, kind] : kinds_) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, to_string(kind));
    }
    return text;
  }

 private:
  void infer_kinds() {
    RowFilesReader reader(rows_);
    std::vector<const Json*> values;
    const auto see = [&](const std::string& name, const Json& value) {
      values.clear();
      gather(value, name, values);
      for (const Json* item : values) {
        const auto [known, is_new] = kinds_.emplace(name, kind_of(*item));
        if (!is_new) known->second = wider(known->second, kind_of(*item));
      }
    };
    for (const std::uint64_t index : rows_.sample()) {
      try {
        visit_features("", parse_object(reader.read(index)), see);
      } catch (const Error&) {
        continue;  // reading it says what is wrong, when it is its turn
      }
    }
  }

  const RowFiles rows_;
  ColumnKinds kinds_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_json_lines(const Files& files, const InputOptions& options) {
  return std::make_unique<JsonLinesInput>(files, options);
}

}  // namespace infeed::tools
