#include <fmt/format.h>

#include <infeed/pipeline/as_columns.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/pack.h>
#include <infeed/pipeline/parse_columns.h>
#include <infeed/pipeline/rebatch.h>
#include <infeed/pipeline/unbatch.h>
#include <infeed/pipeline/window.h>
#include <infeed/records/inferred_schema.h>

#include "describe/json.h"
#include "describe/stages/enums.h"
#include "describe/stages/padding.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {

template <>
struct OptionValue<PackedColumn> {
  static std::string type() { return "str | Mapping[str, Any]"; }
  static JsonText write(const PackedColumn& column) {
    Json json{{"name", column.name}};
    if (column.length != 0) json["length"] = column.length;
    if (column.padding != 0) json["padding"] = column.padding;
    return text_of(json);
  }
  static PackedColumn read(const JsonText& value, const std::string& place) {
    const Json json = parsed(value);
    if (json.is_string()) return {.name = json.get<std::string>()};
    if (!json.is_object() || !json.contains("name")) {
      refuse_value(place, value, "a column's name, or {\"name\", \"length\", \"padding\"}");
    }
    PackedColumn column{.name =
                            OptionValue<std::string>::read(text_of(json["name"]), place + ".name")};
    for (const auto& [key, of] : json.items()) {
      const JsonText member = text_of(of);
      const std::string at = place + "." + key;
      if (key == "length") {
        column.length = OptionValue<std::int64_t>::read(member, at);
      } else if (key == "padding") {
        column.padding = OptionValue<double>::read(member, at);
      } else if (key != "name") {
        refuse_value(at, member, "left out: a column has name, length and padding");
      }
    }
    return column;
  }
};

namespace {

struct ParseStage {
  std::optional<ColumnSchema> columns = std::nullopt;
  bool keep_rows = false;
};
struct BatchStage : BatchRows {
  std::vector<std::string> fields = {};
};
struct PaddedBatchStage : BatchRows {
  std::optional<std::int64_t> width = std::nullopt;
  double padding = 0;
};
struct RebatchStage : RebatchOptions {
  std::vector<std::int64_t> sizes = {};
};
struct PackStage : PackOptions {
  Count rows = 1;
};
struct UnbatchStage : StageOptions {};

/// Makes batches of one column, "value", or of several members.
template <class T>
Dataset<ColumnBatch> batched(const Dataset<T>& input, const BatchRows& rows,
                             std::vector<std::string> names) {
  return input |
         batch(rows.size.value(), {.drop_remainder = rows.drop_remainder, .name = rows.name}) |
         map([names = std::move(names)](const Batch<T>& values) {
           return as_columns(values, names);
         });
}

ColumnSchema inferred(const Elements& records) {
  if (records.files.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "parse: these records don't come from record files, so their columns can't be "
                "inferred: give them");
  }
  return ColumnSchema::from(infer_schema(records.files));
}

Elements unparsed_rows(const ParseStage& stage, const Making& making) {
  const auto* const records = std::get_if<Dataset<Record>>(&making.input().dataset);
  if (records == nullptr || making.input().to_parse) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("parse: it takes records of the type tf.train.Example, but its "
                            "input gives elements of the kind '{}'",
                            to_string(making.input().kind())));
  }
  const ColumnSchema columns = stage.columns ? *stage.columns : inferred(making.input());
  ColumnParser parser(columns);  // refuses what Examples can't fill
  if (!stage.keep_rows) return {.dataset = *records, .to_parse = columns, .columns = columns};
  const auto kept = std::make_shared<KeptRows>(columns, KeepRowsOptions{}, making.table.bad_rows());
  return {.dataset = detail::without_damage(*records, kept),
          .to_parse = kept->schema(),
          .kept = kept,
          .columns = kept->schema()};
}

/// Parses records in batches, as parse() said.
Dataset<ColumnBatch> parsed_batches(const Elements& input, const BatchRows& rows) {
  const BatchIntoOptions options{
      .parallelism = rows.parallelism, .drop_remainder = rows.drop_remainder, .name = rows.name};
  const auto& records = std::get<Dataset<Record>>(input.dataset);
  if (!input.kept) return records | parse_columns(*input.to_parse, rows.size.value(), options);
  const detail::KeepingParser parser(input.kept, ColumnParser(*input.to_parse));
  return detail::parse_keeping(records, parser, rows.size.value(), options);
}

/// Parses records one by one, so that each bad one is an error of its own, in its place. By
/// parse_columns() a batch of one row takes half as long again.
template <class Parser>
Dataset<ColumnBatch> parsed_one_by_one(const Dataset<Record>& records, const Parser& parser) {
  // Rows may stay for long, and nobody counts what lies free in a pool of all runs.
  const auto parse =
      [own = parser.with_pool(TensorPool({.free_bytes_max = 0}))](const Record& record) {
        ColumnRows row = own.begin(1);
        own.parse_row(record.bytes(), &record, 0, row);
        return own.finish(std::move(row), 1);
      };
  return detail::expect_features("parse", parser, records) |
         map(parse, {.parallelism = autotune,
                     .version = detail::schema_signature(parser.schema()).substr(2),
                     .name = "parse"});
}

Dataset<ColumnBatch> parsed_rows(const Elements& input) {
  const auto& records = std::get<Dataset<Record>>(input.dataset);
  if (!input.kept) return parsed_one_by_one(records, ColumnParser(*input.to_parse));
  const detail::KeepingParser parser(input.kept, ColumnParser(*input.to_parse));
  return parsed_one_by_one(
      Dataset<Record>(detail::make_judged_pass(parser.judge(), records.node())), parser);
}

ColumnBatch columns_of_samples(const std::vector<TarSample>& samples,
                               const std::vector<std::string>& fields) {
  std::vector<NamedColumn> columns;
  std::vector<std::string_view> values(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) values[i] = samples[i].key;
  columns.push_back({"key", Column::of_bytes(values)});
  for (const std::string& field : fields) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Record* const content = samples[i].find(field);
      if (content == nullptr) {
        throw Error(ErrorCode::data_loss,
                    fmt::format("the sample '{}' has no field '{}'", samples[i].key, field));
      }
      values[i] = content->bytes();
    }
    columns.push_back({field, Column::of_bytes(values)});
  }
  return ColumnBatch(std::move(columns));
}

Elements batches_of_samples(const Dataset<TarSample>& samples, const BatchStage& stage) {
  if (stage.fields.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "batch: samples of tar files have fields: say which ones become columns, as "
                "fields=[\"jpg\", \"cls\"]");
  }
  const auto columns = [fields = stage.fields](const std::vector<TarSample>& window) {
    return columns_of_samples(window, fields);
  };
  return batches_of(
      samples |
      window({.size = stage.size, .drop_remainder = stage.drop_remainder, .name = stage.name}) |
      map(columns, {.parallelism = stage.parallelism,
                    .version = fmt::format("fields {}", fmt::join(stage.fields, " "))}));
}

Elements batches_of_rows(const Elements& input, const BatchStage& stage) {
  if (input.batch_at_source) {
    return batches_of(input.batch_at_source(stage, nullptr), input.columns);
  }
  if (input.to_parse) return batches_of(parsed_batches(input, stage), input.to_parse);
  if (input.are_rows) {
    require_widths(input.columns, "batch");
    return batches_of(input.batches("batch") |
                          rebatch(stage.size.value(),
                                  {.drop_remainder = stage.drop_remainder, .name = stage.name}),
                      input.columns);
  }
  struct Visitor {
    const BatchStage& stage;
    Elements operator()(const Dataset<Record>& records) const {
      return batches_of(batched(records, stage, {"value"}), ColumnSchema().bytes("value"));
    }
    Elements operator()(const Dataset<std::int64_t>& integers) const {
      return batches_of(batched(integers, stage, {"value"}),
                        ColumnSchema().column("value", DType::int64));
    }
    Elements operator()(const Dataset<std::string>& texts) const {
      return batches_of(batched(texts, stage, {"value"}), ColumnSchema().bytes("value"));
    }
    Elements operator()(const Dataset<LabeledFile>& files) const {
      return batches_of(
          batched(files, stage, {"content", "label", "name"}),
          ColumnSchema().bytes("content").column("label", DType::int64).bytes("name"));
    }
    Elements operator()(const Dataset<TarSample>& samples) const {
      return batches_of_samples(samples, stage);
    }
    Elements operator()(const Dataset<ColumnBatch>&) const {
      throw Error(ErrorCode::invalid_argument,
                  "batch: the input gives batches already: rebatch cuts them anew, and unbatch "
                  "takes them apart");
    }
  };
  return std::visit(Visitor{stage}, input.dataset);
}

/// Pads rows that stages have been at work on. A row that is too long is an error of its own.
Dataset<ColumnBatch> batches_padded_late(const Elements& rows, const PaddedBatchStage& stage) {
  require_widths(rows.columns, "padded_batch");
  const std::int64_t width = stage.width.value_or(-1);
  const auto check = [width, padding = stage.padding](const ColumnBatch& row) {
    for (const Column& column : row.columns()) {
      if (is_sequence(column)) check_sequence(column, width, padding, "padded_batch");
    }
    return row;
  };
  const auto pad = [width, padding = stage.padding](const ColumnBatch& batch) {
    return filled_up(batch, width, padding);
  };
  return rows.batches("padded_batch") | map(check) |
         rebatch(stage.size.value(), {.drop_remainder = stage.drop_remainder, .name = stage.name}) |
         map(pad, {.version = fmt::format("width {}, padding {}", width, stage.padding)});
}

Elements padded_batches(const Elements& input, const PaddedBatchStage& stage) {
  if (!input.columns && !input.to_parse) {
    throw Error(ErrorCode::invalid_argument,
                "padded_batch: it takes rows of columns: put parse before it, or read csv or "
                "json_lines");
  }
  if (!input.to_parse && !input.are_rows) {
    throw Error(ErrorCode::invalid_argument,
                "padded_batch: the input gives batches already: put unbatch() before it");
  }
  const ColumnSchema schema =
      padded_schema(input.to_parse ? *input.to_parse : *input.columns, stage.width, stage.padding);
  BatchStage rows;
  static_cast<BatchRows&>(rows) = stage;
  if (input.batch_at_source && input.parses_at_source) {
    return batches_of(input.batch_at_source(stage, &schema), schema);
  }
  if (!input.to_parse) {
    return batches_of(batches_padded_late(input, stage),
                      padded_rows(*input.columns, stage.width, stage.padding));
  }
  Elements parsed = input;
  parsed.to_parse = schema;
  return batches_of_rows(parsed, rows);
}

template <class Stage>
AddedStage<Stage> with_batch_options(AddedStage<Stage> added) {
  added.required("size", &BatchRows::size, "Rows of a batch.")
      .option("drop_remainder", &BatchRows::drop_remainder, "Leave out a last batch that is short.")
      .tuned("parallelism", static_cast<Count Stage::*>(&BatchRows::parallelism),
             "Threads that fill batches.");
  return added;
}

}  // namespace

Elements rows_of_source(const BatchAtSource& batches, std::optional<ColumnSchema> columns) {
  constexpr std::int64_t kRowsAtOnce = 256;
  return Elements{.dataset = batches({.size = kRowsAtOnce}, nullptr) | unbatch(),
                  .are_rows = true,
                  .batch_at_source = batches,
                  .columns = std::move(columns)};
}

Elements rows_of(const Elements& input, std::string_view stage) {
  if (input.kind() == ElementKind::row) return input;
  if (input.kind() == ElementKind::batch || input.kind() == ElementKind::sample) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} takes single elements, but its input gives {}", stage,
                            input.kind() == ElementKind::batch
                                ? "batches: put it before batch, or unbatch() before it"
                                : "samples of tar files: put batch(n, fields=[...]) and unbatch() "
                                  "before it"));
  }
  if (input.to_parse) {
    Elements rows = batches_of(parsed_rows(input), input.to_parse);
    rows.are_rows = true;
    return rows;
  }
  BatchStage alone;
  alone.parallelism = autotune;
  Elements rows = batches_of_rows(input, alone);
  rows.are_rows = true;
  return rows;
}

void add_batch_stages(StageTable& table) {
  table
      .add("parse",
           "Says which columns records have. batch() parses them, so stages between the two "
           "move records.",
           ParseStage{})
      .option("columns", &ParseStage::columns, "Without them inferred from the first records.")
      .option("keep_rows", &ParseStage::keep_rows,
              "A bad record keeps its row, for several hosts: zeros, and 0 in the column 'valid', "
              "which is added, as is 'bad_row', the number of what is wrong.")
      .makes(unparsed_rows);
  with_batch_options(
      table.add("batch", "Puts consecutive elements into batches of columns.", BatchStage{}))
      .option("fields", &BatchStage::fields, "The fields of tar samples that become columns.")
      .makes([](const BatchStage& stage, const Making& making) {
        return batches_of_rows(making.input(), stage);
      });
  with_batch_options(table.add("padded_batch",
                               "As batch, with ragged columns filled up to one width.",
                               PaddedBatchStage{}))
      .option("width", &PaddedBatchStage::width, "Without it that of the batch's longest row.")
      .option("padding", &PaddedBatchStage::padding, "The value that fills rows up.")
      .makes([](const PaddedBatchStage& stage, const Making& making) {
        return padded_batches(making.input(), stage);
      });
  table.add("unbatch", "Takes batches apart into single rows.", UnbatchStage{})
      .makes([](const UnbatchStage& stage, const Making& making) {
        return Elements{.dataset = making.input().batches("unbatch") | unbatch(stage),
                        .are_rows = true,
                        .columns = making.input().columns};
      });
  table.add("rebatch", "Cuts batches anew, into these sizes in turn.", RebatchStage{})
      .required("sizes", &RebatchStage::sizes, "Rows of the batches.")
      .option("drop_remainder", &RebatchStage::drop_remainder,
              "Leave out a last batch that is shorter than its size.")
      .makes([](const RebatchStage& stage, const Making& making) {
        return batches_of(making.input().batches("rebatch") | rebatch(stage.sizes, stage),
                          making.input().columns);
      });
  table.add("pack", "Puts several documents into each row of one length; first fit.", PackStage{})
      .required("rows", &PackStage::rows, "Rows of a batch.")
      .required("length", &PackStage::length, "Items in a row.")
      .option("window", &PackStage::window, "Rows that may still take documents.")
      .option("too_long", &PackStage::too_long,
              "Documents longer than a row are split, cut to a row's length, or errors.")
      .option("columns", &PackStage::columns,
              "The columns to pack, by name, or as {'name': 'tokens', 'length': 512, 'padding': 0} "
              "for another length or padding; without it all.")
      .option("drop_remainder", &PackStage::drop_remainder,
              "Leave out a last batch that has fewer rows.")
      .makes([](const PackStage& stage, const Making& making) {
        return batches_of(making.input().batches("pack") | pack(stage.rows, stage));
      });
}

}  // namespace infeed::describe
