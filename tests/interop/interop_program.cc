#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/example.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/sequence_example.h>

// Reads and writes in a form that the Python tests can compare with TensorFlow's. Values are
// hexadecimal where JSON would change them.
//
//   infeed_interop read FILE                    a JSON object a record: its size, its CRC and,
//                                               when it is an Example, its features
//   infeed_interop sequences FILE               the same of SequenceExamples, with their lists
//   infeed_interop rewrite-sequences FILE       the standard input's lines as that printed them,
//                                               written as SequenceExamples
//   infeed_interop write FILE COMPRESSION       the lines of the standard input (hexadecimal), one
//                                               record each
namespace {

using namespace infeed;
using Json = nlohmann::json;

constexpr std::string_view kDigits = "0123456789abcdef";

std::string as_hexadecimal(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::string from_hexadecimal(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(kDigits.find(text[i]) * 16 + kDigits.find(text[i + 1]));
  }
  return bytes;
}

Json values_of(const FeatureView& view) {
  switch (view.kind()) {
    case FeatureKind::bytes: {
      std::vector<std::string_view> values;
      view.append_bytes(values);
      Json list = Json::array();
      for (const std::string_view value : values) list.push_back(as_hexadecimal(value));
      return list;
    }
    case FeatureKind::floats: {
      std::vector<float> values;
      view.append_floats(values);
      return as_hexadecimal({reinterpret_cast<const char*>(values.data()), 4 * values.size()});
    }
    case FeatureKind::integers: {
      std::vector<std::int64_t> values;
      view.append_integers(values);
      return values;
    }
  }
  return nullptr;
}

Json value_of(const FeatureView& view) {
  if (!view.is_present()) return nullptr;
  return {{"kind", to_string(view.kind())}, {"values", values_of(view)}};
}

Json features_of(const Record& record) {
  ExampleParser parser;
  for (const FeatureSummary& feature : summarise_example(record.bytes())) parser.want(feature.name);
  std::vector<FeatureView> views(parser.size());
  parser.parse(record, views);
  Json features = Json::object();
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].is_present()) features[parser.names()[i]] = value_of(views[i]);
  }
  return features;
}

void read(const std::string& file) {
  RecordReader reader(file);
  Record record;
  while (reader.next(record)) {
    Json line{{"size", record.size()}, {"crc32c", crc32c(record.bytes())}};
    try {
      line["features"] = features_of(record);
    } catch (const Error&) {
      line["features"] = nullptr;  // some records are no Examples
    }
    std::cout << line.dump() << '\n';
  }
}

Json lists_of(const Record& record) {
  SequenceExampleParser parser;
  for (const auto& list : summarise_feature_lists(record.bytes())) parser.want_list(list.name);
  std::vector<FeatureListView> views(parser.list_names().size());
  parser.parse(record, {}, views);
  Json lists = Json::object();
  for (const FeatureListView& view : views) {
    Json steps = Json::array();
    FeatureSteps walk(view);
    for (FeatureView step; walk.next(step);) steps.push_back(value_of(step));
    lists[std::string(view.name())] = steps;
  }
  return lists;
}

void read_sequences(const std::string& file) {
  RecordReader reader(file);
  Record record;
  while (reader.next(record)) {
    const Json line{{"features", features_of(record)}, {"lists", lists_of(record)}};
    std::cout << line.dump() << '\n';
  }
}

/// Calls the builder's function for the kind of `value`, which value_of() made.
template <class Bytes, class Floats, class Integers>
void add_value(const Json& value, Bytes&& bytes, Floats&& floats, Integers&& integers) {
  const auto kind = value.at("kind").get<std::string>();
  const Json& values = value.at("values");
  if (kind == "bytes") {
    std::vector<std::string> list;
    for (const Json& item : values) list.push_back(from_hexadecimal(item.get<std::string>()));
    bytes(list);
  } else if (kind == "floats") {
    const std::string raw = from_hexadecimal(values.get<std::string>());
    std::vector<float> list(raw.size() / sizeof(float));
    raw.copy(reinterpret_cast<char*>(list.data()), raw.size());
    floats(list);
  } else {
    integers(values.get<std::vector<std::int64_t>>());
  }
}

void rewrite_sequences(const std::string& file) {
  RecordWriter writer(file);
  for (std::string line; std::getline(std::cin, line);) {
    const Json json = Json::parse(line);
    SequenceExampleBuilder builder;
    ExampleBuilder& context = builder.context();
    for (const auto& [name, value] : json.at("features").items()) {
      add_value(
          value, [&, &key = name](const auto& list) { context.bytes(key, list); },
          [&, &key = name](const auto& list) { context.floats(key, list); },
          [&, &key = name](const auto& list) { context.integers(key, list); });
    }
    for (const auto& [name, steps] : json.at("lists").items()) {
      FeatureListBuilder& builder_of_list = builder.list(name);
      for (const Json& step : steps) {
        if (step.is_null()) {
          builder_of_list.nothing();
          continue;
        }
        add_value(
            step, [&](const auto& list) { builder_of_list.bytes(list); },
            [&](const auto& list) { builder_of_list.floats(list); },
            [&](const auto& list) { builder_of_list.integers(list); });
      }
    }
    writer.write(builder.encode());
  }
  writer.close();
}

void write(const std::string& file, const std::string& compression) {
  RecordWriterOptions options;
  if (compression == "gzip") options.compression = Compression::gzip;
  if (compression == "zlib") options.compression = Compression::zlib;
  RecordWriter writer(file, options);
  for (std::string line; std::getline(std::cin, line);) writer.write(from_hexadecimal(line));
  writer.close();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "read") {
      read(arguments[1]);
    } else if (arguments.size() == 2 && arguments[0] == "sequences") {
      read_sequences(arguments[1]);
    } else if (arguments.size() == 2 && arguments[0] == "rewrite-sequences") {
      rewrite_sequences(arguments[1]);
    } else if (arguments.size() == 3 && arguments[0] == "write") {
      write(arguments[1], arguments[2]);
    } else {
      std::fputs(
          "usage: infeed_interop read FILE | sequences FILE | rewrite-sequences FILE | write FILE "
          "COMPRESSION\n",
          stderr);
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_interop: %s\n", error.what());
    return 1;
  }
  return 0;
}
