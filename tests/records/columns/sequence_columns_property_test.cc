#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/column_parser.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/sequence_example.h"
#include "records/columns/plain_rows.h"
#include "records/columns/reference_view.h"
#include "records/columns/unusual_record.h"
#include "records/example/wild_examples.h"
#include "seeded_random.h"

/// Drawn schemas and SequenceExamples, parsed into columns beside libprotobuf.
namespace infeed {
namespace {

class DrawnSchema {
 public:
  explicit DrawnSchema(std::mt19937_64& random) : random_(random) {}

  ColumnSchema draw() {
    std::vector<std::string> names = {"a", "b", "label", "image", "", "none"};
    std::shuffle(names.begin(), names.end(), random_);
    ColumnSchema schema;
    for (std::size_t i = 1 + pick(4); i > 0; --i) schema.add(type(names[i - 1]));
    return schema;
  }
  std::size_t pick(std::size_t n) { return random_() % n; }

 private:
  ColumnType type(std::string name) {
    ColumnType type{.name = std::move(name)};
    const bool is_list = pick(4) != 0;
    if (is_list) type.source = ColumnSource::feature_list;
    constexpr std::array kKinds = {Column::Kind::dense, Column::Kind::ragged, Column::Kind::ragged,
                                   Column::Kind::padded, Column::Kind::ragged_bytes};
    type.kind = kKinds.at(pick(kKinds.size()));
    const bool is_bytes = type.kind == Column::Kind::ragged_bytes;
    // WildExamples draws values that fit these at times.
    type.dtype = is_bytes ? DType::bytes : pick(2) == 0 ? DType::int64 : DType::float32;
    if (is_list && (is_bytes || type.kind == Column::Kind::ragged) && pick(3) != 0) {
      type.ragged_levels = 2;
    }
    if (is_list && type.kind == Column::Kind::dense) {
      type.shape = {static_cast<std::int64_t>(pick(2))};
    }
    if (type.kind == Column::Kind::padded && pick(2) == 0) type.width = 4;
    if (pick(2) == 0) {
      type.missing = is_bytes ? ColumnDefault(std::vector<std::string>(pick(2), "none"))
                              : ColumnDefault(std::vector<std::int64_t>(
                                    static_cast<std::size_t>(type.shape.items()), 1));
    }
    return type;
  }

  std::mt19937_64& random_;
};

/// Gives each step equally many values, mostly of the kind that the column wants.
std::string likely_sequence(const ColumnSchema& schema, DrawnSchema& drawn) {
  SequenceExampleBuilder builder;
  const auto values = [&](auto&& add, const ColumnType& type, std::size_t count) {
    if (type.dtype == DType::bytes) {
      add(std::vector<std::string>(count, "text"));
    } else if (is_float(type.dtype)) {
      add(std::vector<float>(count, 0.5F));
    } else {
      add(std::vector<std::int64_t>(count, 300));
    }
  };
  for (const ColumnType& type : schema.columns()) {
    if (drawn.pick(12) == 0) continue;
    if (type.source == ColumnSource::features) {
      const auto add = [&]<class V>(const std::vector<V>& list) {
        if constexpr (std::is_same_v<V, std::string>) {
          builder.context().bytes(type.name, std::span<const std::string>(list));
        } else if constexpr (std::is_same_v<V, float>) {
          builder.context().floats(type.name, std::span<const float>(list));
        } else {
          builder.context().integers(type.name, std::span<const std::int64_t>(list));
        }
      };
      values(add, type, type.kind == Column::Kind::dense ? 1 : drawn.pick(4));
      continue;
    }
    FeatureListBuilder& list = builder.list(type.name);
    const std::size_t steps =
        type.kind == Column::Kind::dense ? static_cast<std::size_t>(type.shape[0]) : drawn.pick(5);
    for (std::size_t i = 0; i < steps; ++i) {
      const auto add = [&]<class V>(const std::vector<V>& step) {
        if constexpr (std::is_same_v<V, std::string>) {
          list.bytes(step);
        } else if constexpr (std::is_same_v<V, float>) {
          list.floats(step);
        } else {
          list.integers(step);
        }
      };
      values(add, type, type.ragged_levels == 2 ? drawn.pick(4) : 1);
    }
  }
  return builder.encode();
}

TEST(SequenceColumnsProperty, agree_with_protobuf_in_both_ways_of_reading) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  test::SeededRandom random;
  DrawnSchema drawn(random);
  test::WildExamples wild;
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 8000; ++round) {
    const ColumnSchema schema = drawn.draw();
    const ColumnParser parser(schema);
    ColumnRows quick = parser.begin(2);
    ColumnRows general = parser.begin(2);
    std::string bytes = drawn.pick(4) == 0 ? wild.draw_sequence() : likely_sequence(schema, drawn);
    if (drawn.pick(8) == 0) bytes = wild.mutated(bytes);
    const auto parse = [&](const std::string& record, ColumnRows& rows) -> std::string {
      try {
        parser.parse_row(record, nullptr, 0, rows);
      } catch (const Error& error) {
        return error.what();
      }
      return {};
    };
    const std::string error = parse(bytes, quick);
    ASSERT_EQ(parse(test::unusual(bytes), general), error) << schema.to_json();
    const std::size_t rows = error.empty() ? 1 : 0;
    const ColumnBatch batch = parser.finish(std::move(quick), rows);
    ASSERT_EQ(batch, parser.finish(std::move(general), rows)) << schema.to_json();
    const test::ReferenceRecord reference(bytes, test::message_of_schema(schema));
    if (!reference.is_valid()) continue;
    const auto expected = test::reference_row(schema, reference);
    ASSERT_EQ(expected.has_value(), error.empty()) << schema.to_json() << error;
    (expected ? accepted : refused) += 1;
    for (std::size_t i = 0; expected && i < schema.size(); ++i) {
      ASSERT_EQ(test::row_of_column(schema.columns()[i], batch.columns()[i], 0), (*expected)[i])
          << schema.to_json();
    }
  }
  EXPECT_GT(accepted, 1000U);
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace infeed
