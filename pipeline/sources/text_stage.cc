#include "sources/text_stage.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/detail/elementwise.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/records/files.h>

#include "engine/batch_count.h"
#include "engine/recording/place_log.h"
#include "engine/skip_parts.h"
#include "sources/batch_rows.h"
#include "sources/data_identity.h"
#include "sources/dropped_counts.h"

namespace infeed::detail {

RunningFeed::RunningFeed(const StageContext& context, const FileNames& files,
                         TextFeedOptions options)
    : run_(context.run) {
  stop_.emplace(context, options.url);
  if (!files->empty()) {  // the other files are mostly like the first
    options.spare_blocks = run_.readers().spare_blocks(files->front());
    take_threads(files->front(), options.ahead);
  }
  feed_.emplace(files, std::move(options));
}

RunningFeed::~RunningFeed() {
  feed_.reset();
  if (reserved_bytes_ != 0) run_.memory().release_best_effort(reserved_bytes_);
}

/// Takes threads and memory to decompress ahead if the first file allows it.
void RunningFeed::take_threads(const std::string& file, ThreadsAhead& ahead) {
  if (run_.is_inline() || is_url(file)) return;
  const std::uint64_t thread_bytes = bytes_of_thread_ahead(file);
  if (thread_bytes == 0) return;
  threads_.emplace(run_.threads());
  const int count = threads_->grow(run_.concurrency());
  const std::uint64_t bytes = (static_cast<std::uint64_t>(count) + 1) * thread_bytes;
  if (count < 2 || !run_.memory().try_reserve_best_effort(bytes)) return threads_.reset();
  reserved_bytes_ = bytes;
  ahead = {.threads = static_cast<unsigned>(count),
           .bytes_max = bytes,
           .on_thread_start = run_.on_thread_start()};
}

namespace {

/// The batches of a source of text.
struct TextBatches {
  std::size_t size = 1;
  bool drop_remainder = false;
  bool drops_rows = false;  ///< as in TextSourceSpec
};

class TextRowsStage final : public Stage {
 public:
  TextRowsStage(const StageContext& context, const FileNames& files, TextFeedOptions options,
                const TextBatches& batches)
      : Stage(context), feed_(context, files, std::move(options)), batches_(batches) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    HandOver hand_over(out);
    while (out.size() < want) {
      TextRows rows;
      try {
        if (!feed_.feed().read(batches_.size, rows)) return out.empty() ? Pull::end : Pull::values;
      } catch (...) {
        if (run().cancelled()) return Pull::cancelled;
        out.set_error(feed_.error_in_flight());
        return Pull::values;
      }
      if (rows.rows == batches_.size || !batches_.drop_remainder) {
        if (run().keeps_places()) note_place(rows, position() + out.slots());
        out.append(std::move(rows));
        if (hand_over.is_due()) break;
      } else {
        note_count(kDroppedRecords, rows.rows);
      }
      if (run().cancelled()) return Pull::cancelled;
    }
    return Pull::values;
  }

  /// Returns the range of a batch's rows, and each row's own place if rows are to be traced. Which rows
  /// a parser leaves out isn't known here, so that the others have no number in their batch then.
  TracedPlace do_trace(std::uint64_t position) const override {
    TracedPlace traced = places_.find(position);
    if (!run().traces() || batches_.drops_rows) return traced;
    for (std::uint64_t i = 0; i < batches_.size; ++i) {
      TracedPlace row = rows_.find(position * batches_.size + i);
      if (!row.place) break;  // the last batch is shorter
      traced.rows.push_back(std::move(row));
    }
    return traced;
  }

  /// Skips rows. A row counts whether or not its cells can be read, so no cell is parsed.
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    constexpr std::uint64_t kRowsSkippedAtOnce = std::uint64_t{1} << 18;
    const std::uint64_t batches_at_once =
        std::max<std::uint64_t>(1, kRowsSkippedAtOnce / batches_.size);
    const auto pass = [this](std::uint64_t batches) -> std::optional<std::uint64_t> {
      const std::uint64_t rows = feed_.feed().skip(batches * batches_.size);
      if (rows == 0) return std::nullopt;
      return batch_count(rows, batches_.size, batches_.drop_remainder);
    };
    return skip_parts(run(), counters(), count, known, batches_at_once, pass,
                      [this] { return feed_.error_in_flight(); });
  }

 private:
  /// Notes the file of the batch. Rows of two files aren't neighbours.
  void note_place(const TextRows& rows, std::uint64_t position) {
    if (run().traces()) note_rows(rows, position * batches_.size);
    if (rows.pieces.empty() || rows.pieces.front().text.file() != rows.pieces.back().text.file())
      return;
    const Record& first = rows.pieces.front().text;
    places_.add(position, 1,
                {std::string(first.file()), *first.number(), rows.rows, first.offset()});
  }

  void note_rows(const TextRows& rows, std::uint64_t first) {
    for (const TextPiece& piece : rows.pieces) {
      const Record& text = piece.text;
      rows_.add(first, piece.rows, text.file(), *text.number(), text.offset());
      first += piece.rows;
    }
  }

  PlaceLog places_;  ///< only if the iterator records
  PlaceLog rows_;    ///< only if it traces rows: batch b has those from b * size on
  RunningFeed feed_;
  const TextBatches batches_;
};

class TextRowsNode final : public Node {
 public:
  explicit TextRowsNode(const TextSourceSpec& spec)
      : Node("text_rows", type_info<TextRows>()),
        files_(std::make_shared<const std::vector<std::string>>(spec.files)),
        identity_(spec.files, spec.parser->feed_options().url),
        parser_(spec.parser),
        batches_{.size = static_cast<std::size_t>(spec.size.value()),
                 .drop_remainder = spec.drop_remainder,
                 .drops_rows = spec.drops_rows} {}

  std::string signature() const override {
    return fmt::format("text_rows({}, size={}{})", identity_.text(), batches_.size,
                       batches_.drop_remainder ? ", drop_remainder" : "");
  }
  StageTraits traits() const override {
    return {.reads_files = true, .counts = kDroppedCounts, .text = &dropped_text};
  }
  Cardinality cardinality() const override {
    return files_->empty() ? Cardinality::finite(0) : Cardinality::unknown();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<TextRowsStage>(context, files_, parser_->feed_options(), batches_);
  }

 private:
  const FileNames files_;
  const DataIdentity identity_;
  const std::shared_ptr<const TextParser> parser_;
  const TextBatches batches_;
};

/// Parses batches, and counts the rows that they lack.
KernelResult parse_kernel(const void* parser, void*, void* in, void* out, std::size_t count,
                          const Place& place, ErrorPointer& error) {
  auto* const rows = static_cast<TextRows*>(in);
  auto* const batches = static_cast<ColumnBatch*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t left_out = 0;
    bool is_lost = false;
    try {
      ::new (static_cast<void*>(batches + i))
          ColumnBatch(static_cast<const TextParser*>(parser)->parse(rows[i], &left_out));
    } catch (...) {
      error = current_error();
      is_lost = true;
    }
    rows[i].~TextRows();
    if (left_out != 0) StageCounters::add(place.counters->own[kDroppedRecords], left_out);
    if (is_lost) return {i + 1, i};
  }
  return {count, count};
}

}  // namespace

Dataset<ColumnBatch> make_text_source(TextSourceSpec spec) {
  checked_rows(spec.name, spec.size);
  auto text = std::make_shared<TextRowsNode>(spec);
  ElementwiseSpec parsing{
      .name = spec.name, .signature = spec.signature, .out_type = &type_info<ColumnBatch>()};
  parsing.kernel = &parse_kernel;
  parsing.function = spec.parser;
  parsing.counts = {.counts = kDroppedCounts, .text = &dropped_text};
  parsing.has_parallelism = true;
  parsing.parallelism = spec.parallelism;
  return Dataset<ColumnBatch>(
      named(make_elementwise(std::move(parsing), std::move(text)), spec.given_name));
}

}  // namespace infeed::detail
