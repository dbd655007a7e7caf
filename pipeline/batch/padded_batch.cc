#include "infeed/pipeline/padded_batch.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infeed/pipeline/ragged_batch.h"

namespace infeed::detail {

std::vector<PaddingOfField> paddings_of(const PaddedBatchOptions& options,
                                        const std::vector<bool>& is_sequence) {
  const auto sequences =
      static_cast<std::size_t>(std::count(is_sequence.begin(), is_sequence.end(), true));
  const bool one_is_wrong = std::any_of(options.widths.begin(), options.widths.end(),
                                        [](std::int64_t width) { return width < -1; });
  if ((!options.widths.empty() && options.widths.size() != sequences) || one_is_wrong) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("padded_batch: widths are [{}], but the elements have {} sequences; "
                            "give one width each, -1 for the longest of the batch",
                            fmt::join(options.widths, ", "), sequences));
  }
  std::vector<PaddingOfField> paddings(is_sequence.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    paddings[i].value = options.padding;
    if (is_sequence[i] && !options.widths.empty()) paddings[i].width = options.widths[next++];
  }
  return paddings;
}

std::string padded_batch_signature(std::int64_t size, const PaddedBatchOptions& options) {
  return fmt::format("padded_batch({}, widths=[{}], padding={}{})", size,
                     fmt::join(options.widths, " "), options.padding,
                     options.drop_remainder ? ", drop_remainder" : "");
}

std::string ragged_batch_signature(std::int64_t size, const RaggedBatchOptions& options) {
  return fmt::format("ragged_batch({}{})", size, options.drop_remainder ? ", drop_remainder" : "");
}

void refuse_long_sequence(const char* stage, std::size_t length, std::int64_t width) {
  throw Error(
      ErrorCode::data_loss,
      fmt::format("{}: a sequence has {} values, but is to be padded to {}; cut it, or make "
                  "the width larger",
                  stage, length, width));
}

std::int64_t checked_width(std::uint64_t width, std::size_t column_bytes,
                           std::size_t encoded_bytes) {
  constexpr std::uint64_t kBytesAnyway = std::uint64_t{64} << 20;
  constexpr std::uint64_t kRatioMax = 1024;
  const std::uint64_t bytes_max = std::max(kBytesAnyway, kRatioMax * encoded_bytes);
  if (width <= bytes_max / column_bytes) return static_cast<std::int64_t>(width);
  throw Error(ErrorCode::data_loss,
              fmt::format("the bytes of a padded batch are damaged: {} of them are padded to a "
                          "width of {}; remove the file, so that it is written anew",
                          encoded_bytes, width));
}

}  // namespace infeed::detail
