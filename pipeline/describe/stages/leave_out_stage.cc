#include <algorithm>
#include <fmt/format.h>

#include <infeed/pipeline/leave_out.h>
#include <infeed/records/example.h>

#include "describe/json.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {

/// A record by its file and number; also read from the pair [file, record].
template <>
struct OptionValue<RecordPlace> {
  static std::string type() { return "Place | tuple[str, int]"; }
  static JsonText write(const RecordPlace& place) {
    Json json{{"file", place.file}, {"record", place.record}};
    if (place.count != 1) json["count"] = place.count;
    return text_of(json);
  }
  static RecordPlace read(const JsonText& value, const std::string& place) {
    Json json = parsed(value);
    if (json.is_array() && json.size() == 2) json = Json{{"file", json[0]}, {"record", json[1]}};
    if (!json.is_object() || !json.contains("file") || !json.contains("record") ||
        json.size() != 2 + json.count("count")) {
      refuse_value(place, value, "a record, as {\"file\": \"a.tfrecord\", \"record\": 17}");
    }
    RecordPlace record{
        .file = OptionValue<std::string>::read(text_of(json["file"]), place + ".file"),
        .record = OptionValue<Count>::read(text_of(json["record"]), place + ".record")};
    if (json.contains("count")) {
      record.count = OptionValue<Count>::read(text_of(json["count"]), place + ".count");
    }
    return record;
  }
};

namespace {

/// The record that stands in for one that is left out: a text, or the features of an Example.
struct Substitute {
  Json json = "";
};

struct LeaveOutStage : StageOptions {
  std::vector<RecordPlace> rows = {};
  Substitute instead = {};
};

void add_feature(ExampleBuilder& builder, const std::string& name, const Json& values,
                 const std::string& place) {
  if (values.empty()) return;  // a feature without values is one that is missing
  const auto all = [&](const auto& is_kind) {
    return std::all_of(values.begin(), values.end(), is_kind);
  };
  if (all([](const Json& value) { return value.is_string(); })) {
    const auto texts = values.get<std::vector<std::string>>();
    builder.bytes(name, std::span<const std::string>(texts));
  } else if (all([](const Json& value) { return value.is_number_integer(); })) {
    const auto integers = OptionValue<std::vector<std::int64_t>>::read(text_of(values), place);
    builder.integers(name, std::span<const std::int64_t>(integers));
  } else if (all([](const Json& value) { return value.is_number(); })) {
    const auto floats = values.get<std::vector<float>>();
    builder.floats(name, std::span<const float>(floats));
  } else {
    refuse_value(place, text_of(values), "numbers or texts");
  }
}

/// Returns the record's bytes. Throws for values that no Example can hold.
std::string bytes_of(const Json& substitute, const std::string& place) {
  if (substitute.is_string()) return substitute.get<std::string>();
  if (!substitute.is_object()) {
    refuse_value(place, text_of(substitute),
                 "a text, or the features of an Example, as {\"weight\": 0.0}");
  }
  ExampleBuilder builder;
  for (const auto& [name, value] : substitute.items()) {
    add_feature(builder, name, value.is_array() ? value : Json::array({value}), place + "." + name);
  }
  return builder.encode();
}

}  // namespace

template <>
struct OptionValue<Substitute> {
  static std::string type() { return "str | Mapping[str, Any]"; }
  static JsonText write(const Substitute& value) { return text_of(value.json); }
  static Substitute read(const JsonText& value, const std::string& place) {
    Substitute substitute{parsed(value)};
    bytes_of(substitute.json, place);
    return substitute;
  }
};

void add_leave_out(StageTable& table) {
  table
      .add("leave_out",
           "Puts something else in the place of some records; every other row keeps its place.",
           LeaveOutStage{})
      .required("rows", &LeaveOutStage::rows,
                "The records: rows of Dataset.at(), or pairs of file and number.")
      .option("instead", &LeaveOutStage::instead,
              "The record in their place: a text, or features of an Example, as {'weight': 0.0}.")
      .makes([](const LeaveOutStage& stage, const Making& making) {
        const auto* const records = std::get_if<Dataset<Record>>(&making.input().dataset);
        if (records == nullptr) {
          throw Error(ErrorCode::invalid_argument,
                      fmt::format("leave_out: it takes records, so it stands right behind their "
                                  "source, but its input gives elements of the kind '{}'",
                                  to_string(making.input().kind())));
        }
        Elements after = making.input();
        after.batch_at_source = {};
        after.dataset =
            *records | leave_out(stage.rows, {.instead = bytes_of(stage.instead.json, "instead"),
                                              .name = stage.name});
        return after;
      });
}

}  // namespace infeed::describe
