#include "infeed/pipeline/pack.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/pipeline/reservation.h>

#include "batch/pack_bookmark.h"
#include "batch/pack_documents.h"
#include "batch/pack_rows.h"
#include "engine/buffer_bytes.h"
#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

using TooLong = PackOptions::TooLong;

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

class PackStage final : public Stage, public Bookmarked {
 public:
  PackStage(const StageContext& context, const PackSpec& spec, const TypeInfo& in_type,
            std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        spec_(spec),
        input_(std::move(input)),
        documents_(spec, in_type) {
    if (!documents_.is_columns()) begin_rows(spec.options.columns, spec.input.dtypes, {});
  }

  /// Batches are left if it drops the remainder, failed or was cancelled.
  ~PackStage() override { note_buffered(0, 0); }

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

 protected:
  /// Goes to where the next batch begins, and packs again what came from there on. Errors among it
  /// were handed over before.
  bool go_to(const Bookmark& bookmark, Known known) override {
    const PackBookmark to = PackBookmark::of(bookmark, documents_.is_columns(), bad_bookmark());
    const std::uint64_t read = element_ + documents_.chunk().slots();
    if (to.begin.element < read) return false;
    if (!pass_over(*input_, to.begin.element - read, known)) return false;
    documents_.forget(known);
    element_ = to.begin.element;
    part_number_ = 0;
    begins_.clear();
    begin_rows_of(to);
    if (!begin_within_element(to.begin)) return false;
    while (place() < to.end) {
      ErrorPointer given_before;
      const Pull pulled = take_document(given_before);
      if (given_before != nullptr) end_if_passing(*given_before, known);
      if (pulled == Pull::cancelled) return false;
      if (pulled == Pull::end) throw bad_bookmark();
    }
    parts_ = to.parts;
    passes_multiple(parts_);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

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
    begins_.pop_front();
    hold_batches();
    note_fill();
    if (passes_multiple(parts_)) note_bookmark_behind(out);
  }

  void note_bookmark_behind(const Chunk& out) {
    const PackBookmark bookmark{begins_.empty() ? place() : begins_.front(), place(), parts_, told_,
                                rows_->room_before_next_batch()};
    if (bookmark.is_too_long() || ended_) return;
    note_bookmark(position() + out.size(), std::array{bookmark.begin.element},
                  bookmark.state(documents_.is_columns()));
  }

  /// Returns the place of the next part.
  PackPlace place() const { return {element_, documents_.document(), part_number_}; }

  /// Begins the element of a place if it lies within one. Returns false when cancelled.
  bool begin_within_element(const PackPlace& begin) {
    if (begin.document == 0 && begin.part == 0) return true;
    Chunk& in = documents_.chunk();
    const Pull pulled = input_->pull(in, in.capacity());
    if (pulled == Pull::cancelled) return false;
    if (in.size() == 0) drop_slots(in, 1, Known::nothing);
    if (pulled == Pull::end || in.size() == 0) throw bad_bookmark();
    begin_element();
    if (!documents_.go_to(begin.document)) throw bad_bookmark();
    part_number_ = static_cast<std::size_t>(begin.part);
    return true;
  }

  void end_element() {
    documents_.end();
    ++element_;
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
      ++element_;
      return Pull::values;
    }
    try {
      if (!documents_.is_begun()) begin_element();
    } catch (...) {
      error = current_error();
      end_element();
      return Pull::values;
    }
    if (documents_.has_document()) {
      documents_.values(whole_);
      place_document(error);
    }
    if (!documents_.has_document()) end_element();
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
      begin_rows(columns, dtypes, {});
      return;
    }
    documents_.begin(columns_, dtypes_);
  }

  /// Begins the rows that a bookmark goes on with.
  void begin_rows_of(const PackBookmark& bookmark) {
    std::vector<PackedColumn> columns = spec_.options.columns;
    std::vector<DType> dtypes = spec_.input.dtypes;
    const bool tells_names = columns.empty();
    for (BookmarkNumbers told(bookmark.told, bad_bookmark()); !told.is_empty();) {
      const PackToldColumn column = PackToldColumn::taken_from(told);
      if (tells_names) columns.push_back({column.name, spec_.options.length});
      dtypes.push_back(column.dtype);
    }
    if (columns.size() != dtypes.size()) throw bad_bookmark();
    begin_rows(columns, dtypes, bookmark.room);
  }

  void begin_rows(const std::vector<PackedColumn>& columns, const std::vector<DType>& dtypes,
                  std::span<const std::uint64_t> room) {
    columns_ = columns;
    dtypes_ = dtypes;
    whole_.resize(columns.size());
    part_.resize(columns.size());
    const auto plans = plan_columns(columns, dtypes);
    batch_bytes_ = packed_batch_bytes(plans, spec_.rows);
    rows_.emplace(plans, packed_names(columns), spec_.rows,
                  static_cast<std::size_t>(spec_.options.window), spec_.options.memory);
    if (!room.empty() && !rows_->begin_with_room(room)) throw bad_bookmark();
    told_.clear();
    for (std::size_t c = 0; c < columns.size() && documents_.is_columns(); ++c) {
      const bool is_told = spec_.options.columns.empty();
      PackToldColumn{dtypes[c], is_told ? columns[c].name : ""}.append_to(told_);
    }
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
      if (rows_->batches() > begins_.size()) begins_.push_back(place());
      hold_batches();
    }
    ++parts_;
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
  std::size_t part_number_ = 0;      ///< number of the part of a split document
  std::uint64_t element_ = 0;        ///< number in the input of the element in front
  std::uint64_t parts_ = 0;          ///< parts of documents, so far
  std::deque<PackPlace> begins_;     ///< the parts that began the batches in the making
  std::vector<std::uint64_t> told_;  ///< numbers of what the first ColumnBatch told, for bookmarks
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
  StageTraits traits() const override {
    return {.begins = Begins::at_bookmarks, .counts = kPackCounts, .text = &pack_text};
  }
  Cardinality cardinality() const override {
    const Cardinality documents = input().cardinality();
    return documents.is_infinite() ? documents : documents.unknown_unless_empty();
  }
  /// As many batches as the window may touch.
  std::uint64_t buffer_bytes_min() const override {
    if (spec_.input.values == nullptr) return 0;
    const auto plans = plan_columns(spec_.options.columns, spec_.input.dtypes);
    const auto window = static_cast<std::uint64_t>(spec_.options.window);
    return bytes_of_elements((window + spec_.rows - 2) / spec_.rows + 1,
                             packed_batch_bytes(plans, spec_.rows));
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
