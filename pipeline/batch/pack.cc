#include "infeed/pipeline/pack.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/records/detail/store_number.h>

#include "batch/pack_documents.h"
#include "batch/pack_rows.h"
#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

using TooLong = PackOptions::TooLong;

std::vector<PackColumnPlan> plan_columns(const std::vector<PackedColumn>& columns,
                                         const std::vector<DType>& dtypes) {
  std::vector<PackColumnPlan> plans;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    PackColumnPlan plan{.dtype = dtypes[i],
                        .item_bytes = item_bytes(dtypes[i]),
                        .length = static_cast<std::size_t>(columns[i].length)};
    if (!store_number(columns[i].padding, dtypes[i], &plan.padding)) {
      refuse_packing(fmt::format("column '{}' is of {}, but is to be filled up with {}",
                                 columns[i].name, to_string(dtypes[i]), columns[i].padding));
    }
    plans.push_back(plan);
  }
  return plans;
}

std::shared_ptr<const ColumnNames> packed_names(const std::vector<PackedColumn>& columns) {
  std::vector<std::string> names;
  for (const PackedColumn& column : columns) {
    for (const char* suffix : {"", "_segment_ids", "_positions"}) {
      names.push_back(column.name + suffix);
    }
  }
  return column_names(std::move(names));
}

// In the order of kPackCounts.
enum PackCount : std::size_t { kRoomItems, kHeldItems, kDroppedItems };
constexpr std::array<std::string_view, 3> kPackCounts{"room_items", "held_items", "dropped_items"};

/// "packed by pack: 87.5 % of the rows are filled; 1 items were cut off".
std::string pack_text(std::string_view label, std::span<const std::uint64_t> counts) {
  if (counts[kRoomItems] == 0) return {};
  const double filled =
      static_cast<double>(counts[kHeldItems]) / static_cast<double>(counts[kRoomItems]);
  const std::uint64_t dropped = counts[kDroppedItems];
  return fmt::format("packed by {}: {:.1f} % of the rows are filled{}\n", label, 100 * filled,
                     dropped == 0 ? "" : fmt::format("; {} items were cut off", dropped));
}

class PackStage final : public Stage {
 public:
  PackStage(const StageContext& context, const PackSpec& spec, const TypeInfo& in_type,
            std::unique_ptr<Stage> input)
      : Stage(context), spec_(spec), input_(std::move(input)), documents_(spec, in_type) {
    if (!documents_.is_columns()) begin_rows(spec.options.columns, spec.input.dtypes);
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    HandOver hand_over(out);
    while (out.slots() < want && !out.has_error()) {
      if (rows_ && rows_->has_batch()) {
        append_batch(out);
        continue;
      }
      if (ended_) return finish(out);
      if (!out.empty() && (documents_.chunk().empty() || hand_over.is_due())) return Pull::values;
      if (cancelled()) return out.empty() ? Pull::cancelled : Pull::values;
      ErrorPointer error;
      const Pull pulled = take_document(error);
      if (pulled == Pull::cancelled) return pulled;
      if (pulled == Pull::end) {
        ended_ = true;
        if (rows_) rows_->close_all();
        note_fill();
      }
      if (error != nullptr) out.set_error(std::move(error));
    }
    return Pull::values;
  }

 private:
  Pull finish(Chunk& out) {
    const bool is_left = rows_ && rows_->batches() != 0;
    if (is_left && !spec_.options.drop_remainder) {
      append_batch(out);
      return Pull::values;
    }
    return out.empty() ? Pull::end : Pull::values;
  }

  void append_batch(Chunk& out) {
    out.append(rows_->take_batch());
    hold_batches();
    note_fill();
  }

  /// Places the next document, or a part of it.
  Pull take_document(ErrorPointer& error) {
    Chunk& in = documents_.chunk();
    if (in.empty()) {
      const Pull pulled = input_->pull(in, in.capacity());
      if (pulled != Pull::values) return pulled;
    }
    if (in.size() == 0) {
      error = in.take_error();
      return Pull::values;
    }
    try {
      if (!documents_.is_begun()) begin_element();
    } catch (...) {
      error = current_error();
      documents_.end();
      return Pull::values;
    }
    if (documents_.has_document()) {
      documents_.values(whole_);
      place_document(error);
    } else {
      documents_.end();
      return Pull::values;
    }
    if (!documents_.has_document()) documents_.end();
    return Pull::values;
  }

  void begin_element() {
    if (!rows_) {
      std::vector<PackedColumn> columns = spec_.options.columns;
      if (columns.empty()) {
        for (const std::string& name : documents_.batch().names()) {
          columns.push_back({name, spec_.options.length});
        }
      }
      std::vector<DType> dtypes;
      for (const PackedColumn& column : columns) {
        dtypes.push_back(documents_.batch().column(column.name).dtype());
        if (dtypes.back() == DType::bytes) {
          refuse_packing(
              fmt::format("column '{}' is of bytes, but numbers are packed; name the "
                          "columns (PackOptions::columns), or leave it out before",
                          column.name));
        }
      }
      documents_.begin(columns, dtypes);
      begin_rows(columns, dtypes);
      return;
    }
    documents_.begin(columns_, dtypes_);
  }

  void begin_rows(const std::vector<PackedColumn>& columns, const std::vector<DType>& dtypes) {
    columns_ = columns;
    dtypes_ = dtypes;
    whole_.resize(columns.size());
    part_.resize(columns.size());
    const auto plans = plan_columns(columns, dtypes);
    batch_bytes_ = packed_batch_bytes(plans, spec_.rows);
    rows_.emplace(plans, packed_names(columns), spec_.rows,
                  static_cast<std::size_t>(spec_.options.window));
  }

  void place_document(ErrorPointer& error) {
    bool has_items = false;
    bool has_more = false;
    for (std::size_t c = 0; c < whole_.size(); ++c) {
      const auto length = static_cast<std::size_t>(columns_[c].length);
      const std::size_t begin = std::min(part_number_ * length, whole_[c].count);
      const std::size_t count = std::min(length, whole_[c].count - begin);
      part_[c] = {static_cast<const std::byte*>(whole_[c].data) + begin * item_bytes(dtypes_[c]),
                  count};
      has_items = has_items || count != 0;
      has_more = has_more || begin + count < whole_[c].count;
    }
    if (has_more && spec_.options.too_long == TooLong::fail) {
      error = too_long_error();
      has_items = has_more = false;
    } else if (has_more && spec_.options.too_long == TooLong::truncate) {
      for (std::size_t c = 0; c < whole_.size(); ++c) {
        note_count(kDroppedItems, whole_[c].count - part_[c].count);
      }
      has_more = false;
    }
    if (has_items) {
      rows_->place(part_);
      hold_batches();
    }
    if (has_more) {
      ++part_number_;
    } else {
      part_number_ = 0;
      documents_.next();
    }
  }

  ErrorPointer too_long_error() const {
    std::size_t c = 0;
    while (whole_[c].count <= static_cast<std::size_t>(columns_[c].length)) ++c;
    return std::make_shared<const Error>(
        ErrorCode::data_loss,
        fmt::format(
            "pack: a document has {} items of '{}', but its rows have {}; make them longer, "
            "or let PackOptions::too_long split or truncate it",
            whole_[c].count, columns_[c].name, columns_[c].length));
  }

  /// Reserves memory for the batches in the making.
  void hold_batches() {
    if (rows_->batches() == held_batches_) return;
    held_batches_ = rows_->batches();
    const std::uint64_t bytes = held_batches_ * batch_bytes_;
    if (bytes > memory_.bytes()) {
      memory_.grow(bytes - memory_.bytes());
    } else {
      memory_.shrink(memory_.bytes() - bytes);
    }
    note_buffered(held_batches_, bytes);
  }

  void note_fill() {
    if (!rows_) return;
    const FilledRows filled = rows_->take_filled();
    note_count(kRoomItems, filled.room_items);
    note_count(kHeldItems, filled.held_items);
  }

  const PackSpec& spec_;
  const std::unique_ptr<Stage> input_;
  PackDocuments documents_;
  std::vector<PackedColumn> columns_;
  std::vector<DType> dtypes_;
  std::optional<PackRows> rows_;  ///< empty before the first ColumnBatch
  Reservation memory_{memory(), "pack"};
  std::uint64_t batch_bytes_ = 0;
  std::size_t held_batches_ = 0;
  std::vector<PackValues> whole_;
  std::vector<PackValues> part_;
  std::size_t part_number_ = 0;  ///< number of the part of a split document
  bool ended_ = false;
};

class PackNode final : public Node {
 public:
  PackNode(PackSpec spec, NodePointer input)
      : Node("pack", type_info<ColumnBatch>(), {std::move(input)}), spec_(std::move(spec)) {}

  std::string signature() const override {
    const PackOptions& options = spec_.options;
    std::string columns;
    for (const PackedColumn& column : options.columns) {
      columns += fmt::format("{}:{}:{} ", column.name, column.length, column.padding);
    }
    return fmt::format("pack({}, length={}, window={}, too_long={}, {}{})", spec_.rows,
                       options.length, options.window, static_cast<int>(options.too_long), columns,
                       options.drop_remainder ? "drop_remainder" : "");
  }
  StageTraits traits() const override { return {.counts = kPackCounts, .text = &pack_text}; }
  Cardinality cardinality() const override {
    const Cardinality documents = input().cardinality();
    return documents.is_infinite() ? documents : documents.unknown_unless_empty();
  }
  /// As many batches as the window may touch.
  std::uint64_t buffer_bytes_min() const override {
    if (spec_.input.values == nullptr) return 0;
    const auto plans = plan_columns(spec_.options.columns, spec_.input.dtypes);
    const auto window = static_cast<std::uint64_t>(spec_.options.window);
    return ((window + spec_.rows - 2) / spec_.rows + 1) * packed_batch_bytes(plans, spec_.rows);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<PackStage>(context, spec_, input().type(), input().open(context));
  }

 private:
  const PackSpec spec_;
};

void check_pack_columns(PackOptions& options, const PackInput& input) {
  const bool has_input_names = !input.names.empty();
  if (options.columns.empty() && has_input_names) {
    for (const std::string& name : input.names) options.columns.push_back({name});
  }
  if (input.values != nullptr && options.columns.size() != input.dtypes.size()) {
    refuse_packing(
        fmt::format("{} columns are named, but an element has {} sequences; name each of them, in "
                    "their order",
                    options.columns.size(), input.dtypes.size()));
  }
  for (PackedColumn& column : options.columns) {
    if (column.length == 0) column.length = options.length;
    if (column.length < 1) {
      refuse_packing(fmt::format("the rows of column '{}' have a length of {}; give 1 or more",
                                 column.name, column.length));
    }
  }
  if (options.columns.empty() && options.length < 1) {
    refuse_packing(fmt::format("rows have a length of {}; give 1 or more", options.length));
  }
  packed_names(options.columns);  // throws if a name comes twice
}

}  // namespace

NodePointer make_pack(std::int64_t rows, PackOptions options, PackInput documents,
                      NodePointer input) {
  if (rows < 1) refuse_packing(fmt::format("a batch has {} rows; give 1 or more", rows));
  if (options.window < 1) {
    refuse_packing(fmt::format("the window is {} rows; give 1 or more", options.window));
  }
  check_pack_columns(options, documents);
  return std::make_shared<PackNode>(
      PackSpec{static_cast<std::size_t>(rows), std::move(options), std::move(documents)},
      std::move(input));
}

}  // namespace infeed::detail
