#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/hand_over.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/spare_blocks.h>

#include "engine/iterator_context.h"
#include "engine/recording/place_log.h"
#include "engine/skip_parts.h"
#include "sources/url_stop.h"

namespace infeed::detail {

/// Reads one file's elements for the stage below. Its exception is an error in the place of an
/// element. Afterwards it may go on, or give nothing more.
template <class Element>
class FileReader {
 public:
  virtual ~FileReader() = default;
  /// Appends 1 to `want` elements to `out`; none at the end.
  virtual void read(std::vector<Element>& out, std::size_t want) = 0;
  /// Passes over up to `count` elements, and no error; none at the end.
  virtual std::uint64_t skip(std::uint64_t count) = 0;
};

/// The arguments for opening a reader.
struct FileReaderContext {
  UrlOptions url;
  std::shared_ptr<SpareBlocks> spare_blocks;
  /// Adds to a count of the stage's own (Stage::note_count).
  std::function<void(std::size_t own, std::uint64_t amount)> note_count;
};

/// Gives the elements of several files, one after the other. A file that can't be opened is one
/// error.
template <class Element>
class FileReadersStage final : public Stage {
 public:
  using Open =
      std::function<std::unique_ptr<FileReader<Element>>(std::size_t file, FileReaderContext)>;

  FileReadersStage(const StageContext& context,
                   std::shared_ptr<const std::vector<std::string>> files, UrlOptions url, Open open)
      : Stage(context),
        files_(std::move(files)),
        readers_{std::move(url), nullptr,
                 [this](std::size_t own, std::uint64_t amount) { note_count(own, amount); }},
        stop_(context, readers_.url),
        open_(std::move(open)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    HandOver hand_over(out);
    while (out.size() < want) {
      try {
        if (!open_next()) return out.empty() ? Pull::end : Pull::values;
        got_.clear();
        reader_->read(got_, want - out.size());
      } catch (...) {
        if (run().cancelled()) return Pull::cancelled;
        out.set_error(stop_.error_in_flight());
        ++given_;
        return Pull::values;
      }
      if (got_.empty()) reader_.reset();
      if (run().keeps_places() && !got_.empty())
        places_.add(position() + out.slots(), got_.size(), (*files_)[next_ - 1], given_);
      given_ += got_.size();
      for (Element& element : got_) out.append(std::move(element));
      if (run().cancelled()) return Pull::cancelled;
      if (!out.empty() && hand_over.is_due()) break;
    }
    return Pull::values;
  }

  TracedPlace do_trace(std::uint64_t position) const override { return places_.find(position); }

  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    constexpr std::uint64_t kSkippedAtOnce = std::uint64_t{1} << 16;
    const auto pass = [this](std::uint64_t at_most) -> std::optional<std::uint64_t> {
      if (!open_next()) return std::nullopt;
      const std::uint64_t passed = reader_->skip(at_most);
      if (passed == 0) reader_.reset();
      given_ += passed;
      return passed;
    };
    return skip_parts(run(), counters(), count, known, kSkippedAtOnce, pass, [this] {
      ++given_;
      return stop_.error_in_flight();
    });
  }

 private:
  bool open_next() {
    if (reader_ != nullptr) return true;
    if (next_ == files_->size()) return false;
    const std::size_t file = next_++;  // counts as opened even if it can't be opened
    given_ = 0;
    readers_.spare_blocks = run().readers().spare_blocks((*files_)[file]);
    reader_ = open_(file, readers_);
    return true;
  }

  const std::shared_ptr<const std::vector<std::string>> files_;
  FileReaderContext readers_;
  const UrlStop stop_;
  const Open open_;
  std::size_t next_ = 0;
  std::unique_ptr<FileReader<Element>> reader_;  ///< null between files
  std::uint64_t given_ = 0;                      ///< elements of the current file, errors included
  std::vector<Element> got_;
  PlaceLog places_;  ///< only if the iterator records
};

}  // namespace infeed::detail
