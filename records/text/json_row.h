#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "columns/column_plan.h"
#include "infeed/records/column_schema.h"
#include "text/json_text.h"
#include "text/number_scan.h"

/// Reads one JSON object into a row of columns, for json_lines and JsonParser.
namespace infeed::detail {

using PlannedColumns = std::span<const std::unique_ptr<const PlannedColumn>>;

/// Gives ragged and padded columns without a default an empty row where an object lacks them.
/// Throws invalid_argument for columns that JSON can't fill.
ColumnSchema with_empty_rows(const ColumnSchema& schema);

/// Knows which member belongs to which column. Thread-safety: immutable.
class JsonRowParser {
 public:
  class State;

  explicit JsonRowParser(PlannedColumns columns);

  /// Reads the object at the cursor into row `row` of `out`. Returns false, with the cursor's
  /// problem set, when it can't; the row is then partly written. A line feed must follow the object.
  bool parse(JsonCursor& cursor, std::size_t row, std::span<GrowingColumn> out,
             const TensorPool& pool, State& state) const;
  /// Returns the name of the column that the problem belongs to; empty if it belongs to none.
  std::string problem_column(const State& state) const;

 private:
  static constexpr std::size_t kNoMember = ~std::size_t{0};

  /// The column of a member, and the object of columns that it is; perhaps both, perhaps neither.
  struct MemberUse {
    std::size_t column = kNoMember;
    std::size_t object = kNoMember;
  };
  /// A member seen in the object before. An object mostly has the same members in the same order,
  /// written in the same way.
  struct KnownMember {
    /// Text between the value before (or the brace) and the member's own value, filled up to whole
    /// words.
    std::string written;
    std::size_t size = 0;
    std::size_t object = kNoMember;  ///< the object that it lies in
    bool is_first = false;           ///< it is the first of its object
    MemberUse use;

    bool is_at(const char* text) const;
  };
  // The members that are kept take about 1 MiB, or twice as many as the schema wants; those beyond are
  // parsed anew in each object. A line may have millions of them: all those of one line of 16 MiB took
  // 334 MB.
  std::size_t known_members_max() const { return std::max<std::size_t>(4096, 2 * uses_.size()); }
  static constexpr std::size_t kKnownBytesMax = 128;  ///< the longest text of a member that is kept

  struct Row {
    JsonCursor& cursor;
    std::size_t row;
    std::span<GrowingColumn> out;
    const TensorPool& pool;
    State& state;
    std::size_t members = 0;
    std::size_t columns = 0;
  };

  bool parse_members(Row& row, std::size_t object, int depth) const;
  enum class Next : std::uint8_t { member, end, problem };
  Next read_name(Row& row, std::size_t object, bool is_first, MemberUse& use) const;
  /// Returns what stood in the next member's place before; null where it isn't kept.
  KnownMember* known_member(Row& row) const;
  bool parse_column(Row& row, std::size_t column) const;
  bool fill_absent(Row& row) const;

  PlannedColumns planned_;
  std::vector<ScanNumber> scans_;     ///< by column, for one number a row; null: no quick way
  std::vector<std::string> objects_;  ///< "", "meta.", ...
  std::unordered_map<std::string, MemberUse> uses_;
};

/// State from row to row. It belongs to one parser and one thread at a time.
class JsonRowParser::State {
 private:
  friend class JsonRowParser;

  std::vector<KnownMember> known_;
  std::vector<std::uint64_t> seen_;  ///< by column: number of the last row that had the member
  std::uint64_t number_ = 0;
  std::size_t column_ = kNoMember;  ///< the column that a problem belongs to
};

}  // namespace infeed::detail
