#include "infeed/pipeline/lines.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/records/whole_set.h>

#include "engine/iterator_context.h"
#include "engine/recording/place_log.h"
#include "engine/skip_parts.h"
#include "sources/data_identity.h"
#include "sources/text_stage.h"

namespace infeed {
namespace {

class LinesStage final : public Stage {
 public:
  LinesStage(const StageContext& context, const detail::FileNames& files,
             detail::TextFeedOptions options)
      : Stage(context), feed_(context, files, std::move(options)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    try {
      if (!feed_.feed().read(want, text_)) return Pull::end;
    } catch (...) {
      if (run().cancelled()) return Pull::cancelled;
      out.set_error(feed_.error_in_flight());
      return Pull::values;
    }
    for (const detail::TextPiece& piece : text_.pieces) {
      const std::size_t before = out.size();
      cut(piece.text, out);
      if (run().keeps_places()) note_places(piece, out, before);
    }
    text_.pieces.clear();
    return Pull::values;
  }

  TracedPlace do_trace(std::uint64_t position) const override { return places_.find(position); }

  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    constexpr std::uint64_t kLinesSkippedAtOnce = std::uint64_t{1} << 20;
    const auto pass = [this](std::uint64_t at_most) -> std::optional<std::uint64_t> {
      const std::uint64_t lines = feed_.feed().skip(at_most);
      return lines == 0 ? std::nullopt : std::optional(lines);
    };
    return detail::skip_parts(run(), counters(), count, known, kLinesSkippedAtOnce, pass,
                              [this] { return feed_.error_in_flight(); });
  }

 private:
  /// Notes where the lines of a piece are: those of the chunk from `begin` on.
  void note_places(const detail::TextPiece& piece, const Chunk& out, std::size_t begin) {
    const Record& text = piece.text;
    if (!run().traces())
      return places_.add(position() + begin, piece.rows, text.file(), *text.number(),
                         text.offset());
    for (std::size_t i = begin; i < out.size(); ++i) {
      const auto& line = *static_cast<const Record*>(out.value(i));
      places_.add_alone(position() + i, text.file(), *line.number(), line.offset());
    }
  }

  static void cut(const Record& text, Chunk& out) {
    std::string_view left = text.bytes();
    for (std::uint64_t number = *text.number(); !left.empty(); ++number) {
      const std::size_t end = left.find('\n');
      std::string_view line = left.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      Record record = text.slice(line);
      record.renumber(number);
      out.append(std::move(record));
      left.remove_prefix(end + 1);
    }
  }

  detail::RunningFeed feed_;
  detail::TextRows text_;
  detail::PlaceLog places_;  ///< only if the iterator records
};

class LinesNode final : public Node {
 public:
  LinesNode(std::vector<std::string> files, LinesOptions options)
      : Node("lines", type_info<Record>()),
        identity_(files, options.url),
        files_(std::make_shared<const std::vector<std::string>>(std::move(files))),
        options_(std::move(options)) {}

  std::string signature() const override { return fmt::format("lines({})", identity_.text()); }
  StageTraits traits() const override { return {.reads_files = true}; }
  Cardinality cardinality() const override {
    return files_->empty() ? Cardinality::finite(0) : Cardinality::unknown();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<LinesStage>(
        context, files_,
        detail::TextFeedOptions{.keeps_empty_lines = true,
                                .row_bytes_max = options_.line_bytes_max,
                                .block_bytes = std::size_t{256} << 10,
                                .compression = options_.compression,
                                .url = options_.url});
  }

 private:
  const detail::DataIdentity identity_;
  const detail::FileNames files_;
  const LinesOptions options_;
};

}  // namespace

Dataset<Record> lines(std::vector<std::string> files, LinesOptions options) {
  options.line_bytes_max.of("lines", "line_bytes_max");
  StageName name = options.name;
  return Dataset<Record>(
      detail::named(std::make_shared<LinesNode>(std::move(files), std::move(options)), name));
}

Dataset<Record> lines(std::initializer_list<std::string> files, LinesOptions options) {
  return lines(std::vector(files), std::move(options));
}

Dataset<Record> lines(const std::string& pattern, LinesOptions options) {
  return lines(match_whole_sets(pattern), std::move(options));
}

}  // namespace infeed
