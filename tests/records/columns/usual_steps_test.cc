#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/records/column_schema.h>

#include "columns/column_plan.h"
#include "columns/step_columns.h"
#include "matchers.h"
#include "records/example/wire_writer.h"

/// SequenceExamples in the usual form that become rows at once, and those that are left to the
/// slower way, which would give the same rows.
namespace infeed::detail {
namespace {

using test::bytes_field;
using test::varint;

/// Columns that take sequences in the usual form, for up to four rows.
class UsualSequences {
 public:
  explicit UsualSequences(const ColumnSchema& schema) : growing_(schema.size()) {
    for (const ColumnType& type : schema.columns()) {
      const std::size_t place = plan_.columns.size();
      std::unique_ptr<PlannedColumn> column = plan_column(type);
      if (column->is_of_steps()) {
        plan_.lists.want_list(type.name);
        plan_.list_columns.push_back(place);
        plan_.parse_lists.push_back(nullptr);
        plan_steps(*column);
      } else {
        plan_.parser.want(type.name);
        plan_.feature_columns.push_back(place);
        plan_.parse_lists.push_back(plan_usual_form(type));
      }
      begin_column(*column, 4, growing_[place], pool_);
      add_column(plan_, std::move(column));
    }
  }
  explicit UsualSequences(ColumnType type) : UsualSequences(ColumnSchema().add(of_steps(type))) {}

  static ColumnType of_steps(ColumnType type) {
    type.name = "x";
    type.source = ColumnSource::feature_list;
    return type;
  }

  /// Reads the next row; one that isn't read leaves no part of it.
  bool reads(const std::string& record) {
    if (parse_usual_sequence(plan_, record, rows_, growing_, pool_)) {
      ++rows_;
      return true;
    }
    for (std::size_t i = 0; i < growing_.size(); ++i) {
      truncate_column(*plan_.columns[i], rows_, growing_[i]);
    }
    return false;
  }
  Column finish(std::size_t column = 0) {
    return finish_column(*plan_.columns[column], rows_, growing_[column], pool_);
  }
  ColumnPlan& plan() { return plan_; }

 private:
  TensorPool pool_;
  ColumnPlan plan_;
  std::vector<GrowingColumn> growing_;
  std::size_t rows_ = 0;
};

// Features, each of one list.
std::string integers(std::initializer_list<std::int64_t> values) {
  std::string run;
  for (const std::int64_t value : values) run += varint(static_cast<std::uint64_t>(value));
  return bytes_field(3, bytes_field(1, run));
}
std::string float_bytes(std::string_view run) { return bytes_field(2, bytes_field(1, run)); }
std::string floats(const std::vector<float>& values) {
  return float_bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}
std::string texts(std::initializer_list<std::string_view> values) {
  std::string list;
  for (const std::string_view value : values) list += bytes_field(1, value);
  return bytes_field(1, list);
}

std::string entry_of(std::string_view name, const std::string& content) {
  return bytes_field(1, bytes_field(1, name) + bytes_field(2, content));
}
std::string list_of(std::string_view name, const std::vector<std::string>& steps) {
  std::string content;
  for (const std::string& step : steps) content += bytes_field(1, step);
  return entry_of(name, content);
}
/// A record of one list "x" and nothing else.
std::string steps_of(const std::vector<std::string>& steps) {
  return bytes_field(2, list_of("x", steps));
}

TEST(UsualSteps, OfNumbersInRowsOfOneLength) {
  UsualSequences pairs({.name = {}, .dtype = DType::int16, .shape = {2}});
  EXPECT_TRUE(pairs.reads(steps_of({integers({1}), integers({-2})})));
  EXPECT_TRUE(pairs.reads(steps_of({integers({3}), integers({4})})));
  for (const auto& steps : std::vector<std::vector<std::string>>{
           {},
           {integers({1})},
           {integers({1}), integers({2}), integers({3})},
           {integers({1}), integers({2, 3})},
           {integers({1}), integers({})},
           {integers({1}), integers({32768})},
           {integers({1}), floats({2})},
           {integers({1}), texts({"2"})},
           {integers({1}), ""},
           {integers({1}), integers({2}) + integers({3})},
           {integers({1}), bytes_field(4, bytes_field(1, "\x02"))}}) {
    EXPECT_FALSE(pairs.reads(steps_of(steps)));
  }
  EXPECT_THAT(pairs.finish().values<std::int16_t>(), ElementsAre(1, -2, 3, 4));

  UsualSequences points({.name = {}, .dtype = DType::float32, .shape = {2, 2}});
  EXPECT_TRUE(points.reads(steps_of({floats({1, 2}), floats({3, 4})})));
  EXPECT_TRUE(points.reads(steps_of({floats({5, 6}), floats({7, 8})})));
  EXPECT_FALSE(points.reads(steps_of({floats({1, 2}), floats({3})})));
  EXPECT_FALSE(points.reads(steps_of({floats({1, 2}), integers({3, 4})})));
  EXPECT_THAT(points.finish().values<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));

  UsualSequences nothing({.name = {}, .dtype = DType::int8, .shape = {2, 0}});
  EXPECT_FALSE(nothing.reads(steps_of({integers({}), integers({})})));
  UsualSequences doubles({.name = {}, .dtype = DType::float64, .shape = {1}});
  EXPECT_FALSE(doubles.reads(steps_of({floats({1})})));
}

TEST(UsualSteps, OfNumbersInRowsOfAnyLength) {
  UsualSequences padded(
      {.name = {}, .dtype = DType::int64, .kind = Column::Kind::padded, .width = 3, .padding = -1});
  EXPECT_TRUE(padded.reads(steps_of({integers({1}), integers({2})})));
  EXPECT_TRUE(padded.reads(steps_of({integers({3}), integers({4}), integers({5})})));
  EXPECT_FALSE(
      padded.reads(steps_of({integers({1}), integers({2}), integers({3}), integers({4})})));
  const Column filled = padded.finish();
  EXPECT_THAT(filled.values<std::int64_t>(), ElementsAre(1, 2, -1, 3, 4, 5));
  EXPECT_THAT(filled.lengths(), ElementsAre(2, 3));

  UsualSequences ragged({.name = {}, .dtype = DType::float32, .kind = Column::Kind::ragged});
  EXPECT_TRUE(ragged.reads(steps_of({floats({1.5F}), floats({2})})));
  EXPECT_TRUE(ragged.reads(steps_of({floats({3})})));
  EXPECT_FALSE(ragged.reads(steps_of({floats({1, 2})})));
  EXPECT_FALSE(ragged.reads(steps_of({}))) << "a list without steps may count as a missing one";
  const Column lists = ragged.finish();
  EXPECT_THAT(lists.values<float>(), ElementsAre(1.5F, 2, 3));
  EXPECT_THAT(lists.row_splits(), ElementsAre(0, 2, 3));
}

TEST(UsualSteps, OfBytesThatAreNumbers) {
  UsualSequences pixels(
      {.name = {}, .dtype = DType::uint8, .shape = {2}, .kind = Column::Kind::ragged});
  EXPECT_TRUE(pixels.reads(steps_of({texts({"ab"}), integers({7, 255})})));
  for (const std::string& step : {texts({"abc"}), texts({"a"}), texts({"a", "b"}), texts({}),
                                  integers({7}), floats({1, 2})}) {
    EXPECT_FALSE(pixels.reads(steps_of({step})));
  }
  EXPECT_THAT(pixels.finish().values<std::uint8_t>(), ElementsAre('a', 'b', 7, 255));
  UsualSequences scalars({.name = {}, .dtype = DType::uint8, .kind = Column::Kind::ragged});
  EXPECT_TRUE(scalars.reads(steps_of({integers({7})})));
  EXPECT_FALSE(scalars.reads(steps_of({texts({"a"})}))) << "a byte is no number of its own";
  EXPECT_THAT(scalars.finish().values<std::uint8_t>(), ElementsAre(7));
}

ColumnType sequences_of_steps(DType dtype, Shape shape = {}) {
  return {.name = {},
          .dtype = dtype,
          .shape = std::move(shape),
          .kind = dtype == DType::bytes ? Column::Kind::ragged_bytes : Column::Kind::ragged,
          .ragged_levels = 2};
}

TEST(UsualSteps, OfInnerSequences) {
  UsualSequences numbers(sequences_of_steps(DType::int32));
  EXPECT_TRUE(numbers.reads(steps_of({integers({1, -2, 3}), integers({4})})));
  for (const std::string& step : {integers({}), integers({1LL << 31}), floats({1}), texts({"a"})}) {
    EXPECT_FALSE(numbers.reads(steps_of({integers({5}), step})));
  }
  EXPECT_TRUE(numbers.reads(steps_of({integers({6, 7})})));
  const Column ints = numbers.finish();
  EXPECT_THAT(ints.values<std::int32_t>(), ElementsAre(1, -2, 3, 4, 6, 7));
  EXPECT_THAT(ints.row_splits(0), ElementsAre(0, 2, 3));
  EXPECT_THAT(ints.row_splits(1), ElementsAre(0, 3, 4, 6));

  UsualSequences reals(sequences_of_steps(DType::float32));
  EXPECT_TRUE(reals.reads(steps_of({floats({1, 2}), floats({3})})));
  for (const std::string& step : {floats({}), float_bytes("1"), float_bytes("12345"),
                                  float_bytes("12"), integers({1}), texts({"1234"})}) {
    EXPECT_FALSE(reals.reads(steps_of({floats({5}), step})));
  }
  const Column values = reals.finish();
  EXPECT_THAT(values.values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(values.row_splits(0), ElementsAre(0, 2));
  EXPECT_THAT(values.row_splits(1), ElementsAre(0, 2, 3));

  EXPECT_FALSE(
      UsualSequences(sequences_of_steps(DType::int32, {2})).reads(steps_of({integers({1, 2})})));
  EXPECT_FALSE(UsualSequences(sequences_of_steps(DType::uint8)).reads(steps_of({integers({1})})));
  EXPECT_FALSE(UsualSequences(sequences_of_steps(DType::float64)).reads(steps_of({floats({1})})));
  EXPECT_FALSE(UsualSequences(sequences_of_steps(DType::bytes)).reads(steps_of({texts({"a"})})));
}

TEST(UsualSteps, OfTexts) {
  UsualSequences words({.name = {}, .dtype = DType::bytes, .kind = Column::Kind::ragged_bytes});
  EXPECT_TRUE(words.reads(steps_of({texts({"one"}), texts({""})})));
  for (const std::string& step : {texts({"a", "b"}), texts({}), floats({1}), integers({1})}) {
    EXPECT_FALSE(words.reads(steps_of({texts({"x"}), step})));
  }
  EXPECT_TRUE(words.reads(steps_of({texts({"two"})})));
  const Column column = words.finish();
  EXPECT_THAT(column.row_splits(), ElementsAre(0, 2, 3));
  EXPECT_THAT(column.offsets(), ElementsAre(0, 3, 3, 6));
  EXPECT_EQ(column.bytes(2), "two");
}

ColumnSchema lists_named(const std::vector<std::string>& names) {
  ColumnSchema schema;
  for (const std::string& name : names) schema.ragged(name, DType::int64).from_feature_list();
  return schema;
}

TEST(UsualSteps, OfListsThatAreThereOnce) {
  const std::string x = list_of("x", {integers({1})});
  const std::string y = list_of("y", {integers({2})});
  UsualSequences both(lists_named({"x", "y"}));
  EXPECT_TRUE(both.reads(bytes_field(2, x + y)));
  EXPECT_TRUE(both.reads(bytes_field(2, y + list_of("other", {floats({1})}) + x)));
  const std::string no_entry = bytes_field(3, "");
  for (const std::string& lists :
       {std::string(), x, y, x + x, x + y + x, x + y + no_entry,
        x + bytes_field(1, bytes_field(2, bytes_field(1, integers({2})))),  // no name
        x + bytes_field(1, bytes_field(1, "y")),                            // no list
        x + bytes_field(1, bytes_field(1, "y") + bytes_field(2, bytes_field(1, integers({2}))) +
                               bytes_field(3, "")),
        x + list_of("y", {integers({2})}) + bytes_field(1, bytes_field(1, "other"))}) {
    EXPECT_FALSE(both.reads(bytes_field(2, lists)));
  }
  EXPECT_FALSE(both.reads(bytes_field(2, x + y) + no_entry)) << "a field behind them";
  EXPECT_FALSE(both.reads(bytes_field(1, "")));
  EXPECT_FALSE(both.reads(""));
  EXPECT_THAT(both.finish(0).values<std::int64_t>(), ElementsAre(1, 1));
  EXPECT_THAT(both.finish(1).values<std::int64_t>(), ElementsAre(2, 2));
}

TEST(UsualSteps, BesideAContext) {
  const std::string lists = steps_of({integers({1})});
  const std::string label = entry_of("label", integers({5}));
  UsualSequences without(lists_named({"x"}));
  EXPECT_TRUE(without.reads(lists));
  EXPECT_TRUE(without.reads(bytes_field(1, "") + lists));
  EXPECT_TRUE(without.reads(bytes_field(1, label + label) + lists));
  EXPECT_FALSE(without.reads(bytes_field(1, label + bytes_field(3, "")) + lists));
  without.plan().has_partitions = true;
  EXPECT_FALSE(without.reads(lists));

  ColumnSchema schema = ColumnSchema().ragged("x", DType::int64).from_feature_list();
  UsualSequences with(schema.column("label", DType::int64));
  EXPECT_TRUE(with.reads(bytes_field(1, label) + lists));
  EXPECT_TRUE(with.reads(bytes_field(1, entry_of("label", integers({6}))) + lists));
  EXPECT_FALSE(with.reads(lists));
  EXPECT_FALSE(with.reads(bytes_field(1, "") + lists));
  EXPECT_FALSE(with.reads(bytes_field(1, entry_of("label", floats({5}))) + lists));
  EXPECT_THAT(with.finish(1).values<std::int64_t>(), ElementsAre(5, 6));
}

TEST(UsualSteps, OfUpTo1024Lists) {
  for (const std::size_t count : {1024, 1025}) {
    std::vector<std::string> names;
    std::string lists;
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back(std::to_string(i));
      lists += list_of(names.back(), {integers({1})});
    }
    EXPECT_EQ(UsualSequences(lists_named(names)).reads(bytes_field(2, lists)), count == 1024);
  }
}

}  // namespace
}  // namespace infeed::detail
