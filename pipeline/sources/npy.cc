#include "infeed/pipeline/npy.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/whole_set.h>

#include "engine/batch_count.h"
#include "engine/iterator_context.h"
#include "engine/recording/place_log.h"
#include "engine/skip_parts.h"
#include "sources/array_feed.h"
#include "sources/batch_rows.h"
#include "sources/data_identity.h"
#include "sources/dropped_counts.h"
#include "sources/url_stop.h"

namespace infeed {
namespace {

struct ArraysSpec {
  std::string name;
  std::shared_ptr<const detail::ArrayFiles> files;
  std::uint64_t size;
  ArrayMemory memory;
  bool drop_remainder;
};

class ArraysStage final : public Stage {
 public:
  ArraysStage(const StageContext& context, const ArraysSpec& spec)
      : Stage(context),
        spec_(spec),
        url_(spec.files->options().url),
        stop_(context, url_),
        feed_(spec.files, url_) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    HandOver hand_over(out);
    do {
      try {
        const std::uint64_t rows = feed_.read(spec_.size, pieces_);
        if (rows == 0) return out.empty() ? Pull::end : Pull::values;
        if (rows < spec_.size && spec_.drop_remainder) {
          note_count(detail::kDroppedRecords, rows);
        } else {
          if (run().keeps_places()) note_place(position() + out.slots());
          out.append(detail::read_array_rows(pieces_, spec_.memory));
        }
      } catch (...) {
        if (run().cancelled()) return Pull::cancelled;
        out.set_error(stop_.error_in_flight());
        return Pull::values;
      }
      if (run().cancelled()) return Pull::cancelled;
    } while (out.empty() || (out.size() < want && !hand_over.is_due()));
    return Pull::values;
  }

  TracedPlace do_trace(std::uint64_t position) const override { return places_.find(position); }

  /// Skips rows by headers if possible. A row counts whether or not its values can be read. But if
  /// more than a file's header is read, the file may turn out to be damaged.
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const std::uint64_t batches_at_once =
        std::max<std::uint64_t>(1, (std::uint64_t{1} << 40) / spec_.size);
    const auto pass = [&](std::uint64_t batches) -> std::optional<std::uint64_t> {
      const std::uint64_t rows = feed_.skip(batches * spec_.size, known == Known::no_errors);
      if (rows == 0) return std::nullopt;
      return detail::batch_count(rows, spec_.size, spec_.drop_remainder);
    };
    return detail::skip_parts(run(), counters(), count, known, batches_at_once, pass,
                              [this] { return stop_.error_in_flight(); });
  }

 private:
  /// Notes the file of the batch. Rows of two files aren't neighbours. For arrays side by side the
  /// first array's file is named.
  void note_place(std::uint64_t position) {
    if (pieces_.size() != 1) return;
    const detail::ArrayRows& rows = pieces_.front();
    places_.add(position, 1,
                {rows.arrays->front().file(), static_cast<std::uint64_t>(rows.first),
                 static_cast<std::uint64_t>(rows.rows)});
  }

  const ArraysSpec spec_;
  UrlOptions url_;
  const detail::UrlStop stop_;
  detail::ArrayFeed feed_;
  std::vector<detail::ArrayRows> pieces_;
  detail::PlaceLog places_;  ///< only if the iterator records
};

class ArraysNode final : public Node {
 public:
  ArraysNode(ArraysSpec spec, std::uint32_t columns, UrlOptions url)
      : Node(spec.name, type_info<ColumnBatch>()),
        spec_(std::move(spec)),
        columns_(columns),
        identity_(spec_.files->names(), std::move(url)) {}

  std::string signature() const override {
    return fmt::format("{}({}, columns={:08x}, size={}{})", spec_.name, identity_.text(), columns_,
                       spec_.size, spec_.drop_remainder ? ", drop_remainder" : "");
  }
  StageTraits traits() const override {
    return {.reads_files = true, .counts = detail::kDroppedCounts, .text = &detail::dropped_text};
  }
  /// Reads the headers on the first call, so a program that doesn't need the number opens no file.
  Cardinality cardinality() const override {
    std::call_once(counted_, [this] {
      const auto rows = spec_.files->count_all();
      if (!rows) return;
      cardinality_ =
          Cardinality::finite(detail::batch_count(*rows, spec_.size, spec_.drop_remainder));
    });
    return cardinality_;
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ArraysStage>(context, spec_);
  }

 private:
  const ArraysSpec spec_;
  const std::uint32_t columns_;  ///< checksum of the columns' names
  const detail::DataIdentity identity_;
  mutable std::once_flag counted_;
  mutable Cardinality cardinality_ = Cardinality::unknown();
};

Dataset<ColumnBatch> arrays(const std::string& name,
                            std::vector<std::vector<detail::ArrayFile>> parts, Count size,
                            NpySourceOptions options) {
  const std::uint64_t rows = detail::checked_rows(name, size);
  std::string columns;
  for (const auto& part : parts) {
    for (const auto& file : part) columns += file.column + '\n';
  }
  for (const std::string& array : options.arrays) columns += array + '\n';
  const auto files = std::make_shared<const detail::ArrayFiles>(
      std::move(parts), NpyOptions{.compression = options.compression,
                                   .arrays = std::move(options.arrays),
                                   .verify = options.verify,
                                   .url = options.url});
  return Dataset<ColumnBatch>(
      detail::named(std::make_shared<ArraysNode>(
                        ArraysSpec{name, files, rows, options.memory, options.drop_remainder},
                        crc32c(columns), std::move(options.url)),
                    options.name));
}

std::vector<std::vector<detail::ArrayFile>> one_part_each(std::vector<std::string> files,
                                                          const std::string& column) {
  std::vector<std::vector<detail::ArrayFile>> parts;
  for (std::string& file : files) parts.push_back({{column, std::move(file)}});
  return parts;
}

}  // namespace

Dataset<ColumnBatch> npy(std::vector<std::string> files, Count size, NpySourceOptions options) {
  if (options.column.empty()) {
    throw Error(ErrorCode::invalid_argument, "npy: the column's name is empty; give it one");
  }
  auto parts = one_part_each(std::move(files), options.column);
  return arrays("npy", std::move(parts), size, std::move(options));
}

Dataset<ColumnBatch> npy(const std::string& pattern, Count size, NpySourceOptions options) {
  return npy(match_whole_sets(pattern), size, std::move(options));
}

Dataset<ColumnBatch> npz(std::vector<std::string> files, Count size, NpySourceOptions options) {
  return arrays("npz", one_part_each(std::move(files), {}), size, std::move(options));
}

Dataset<ColumnBatch> npz(const std::string& pattern, Count size, NpySourceOptions options) {
  return npz(match_whole_sets(pattern), size, std::move(options));
}

Dataset<ColumnBatch> npy_columns(std::vector<NpyColumn> columns, Count size,
                                 NpySourceOptions options) {
  std::vector<detail::ArrayFile> part;
  for (NpyColumn& one : columns) {
    const bool is_twice = std::any_of(part.begin(), part.end(),
                                      [&](const auto& file) { return file.column == one.column; });
    if (one.column.empty() || is_twice) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("npy_columns: the name '{}' is empty or comes twice; each file's "
                              "column has a name of its own",
                              one.column));
    }
    part.push_back({std::move(one.column), std::move(one.file)});
  }
  if (part.empty()) {
    throw Error(ErrorCode::invalid_argument, "npy_columns: no columns are given");
  }
  return arrays("npy_columns", {std::move(part)}, size, std::move(options));
}

}  // namespace infeed
