#include "infeed/pipeline/padded_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infeed/pipeline/ragged_batch.h"

namespace infeed::detail {

std::vector<PaddingOfField> paddings_of(std::string_view stage,
                                        const std::vector<std::int64_t>& widths, double padding,
                                        const std::vector<double>& paddings,
                                        const std::vector<bool>& is_sequence) {
  const auto sequences =
      static_cast<std::size_t>(std::count(is_sequence.begin(), is_sequence.end(), true));
  const bool one_is_wrong =
      std::any_of(widths.begin(), widths.end(), [](std::int64_t width) { return width < -1; });
  if ((!widths.empty() && widths.size() != sequences) || one_is_wrong) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: widths are [{}], but the elements have {} sequences; give one "
                            "width each, -1 for the longest of the batch",
                            stage, fmt::join(widths, ", "), sequences));
  }
  if (!paddings.empty() && paddings.size() != sequences) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: paddings are [{}], but the elements have {} sequences; give one "
                            "value each",
                            stage, fmt::join(paddings, ", "), sequences));
  }
  std::vector<PaddingOfField> all(is_sequence.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].value = padding;
    if (!is_sequence[i]) continue;
    if (!widths.empty()) all[i].width = widths[next];
    if (!paddings.empty()) all[i].value = paddings[next];
    ++next;
  }
  return all;
}

std::string padding_signature(const std::vector<std::int64_t>& widths, double padding,
                              const std::vector<double>& paddings) {
  return fmt::format(
      ", widths=[{}], padding={}{}", fmt::join(widths, " "), padding,
      paddings.empty() ? "" : fmt::format(", paddings=[{}]", fmt::join(paddings, " ")));
}

std::string padded_batch_signature(std::int64_t size, const PaddedBatchOptions& options) {
  return fmt::format("padded_batch({}{}{})", size,
                     padding_signature(options.widths, options.padding, options.paddings),
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

void refuse_damaged_padding(std::size_t encoded_bytes, double padding) {
  throw Error(ErrorCode::data_loss,
              fmt::format("the bytes of a padded batch are damaged: {} of them are padded with {}, "
                          "which is no value of theirs; remove the file, so that it is written "
                          "anew",
                          encoded_bytes, padding));
}

void refuse_padding(std::string_view stage, double padding, std::size_t sequence,
                    std::string_view numbers, std::size_t value_bytes) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: the padding {} is no value of sequence {} of the elements ({} of {} "
                          "bits); give each sequence its own with paddings",
                          stage, padding, sequence, numbers, 8 * value_bytes));
}

}  // namespace infeed::detail
