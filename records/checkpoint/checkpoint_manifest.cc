#include "checkpoint/checkpoint_manifest.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "infeed/detail/format_version.h"
#include "infeed/records/crc32c.h"

namespace infeed::detail {
namespace {

constexpr std::string_view kManifestMagic = "infeed-training-checkpoint ";
constexpr std::string_view kChecksum = "checksum ";
// "checksum 1a2b3c4d\n"
constexpr std::size_t kChecksumLine = 18;

/// Takes the next word off the line. The last one, a name, keeps its spaces.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::string shape_text(const Shape& shape) {
  return shape.rank() == 0 ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

bool parse_shape(std::string_view word, Shape& shape) {
  std::vector<std::int64_t> extents;
  std::uint64_t items = 1;
  // The most items whose bytes fit into a number.
  constexpr std::uint64_t kItemsMax = std::uint64_t{1} << 60;
  while (word != "scalar" && !word.empty()) {
    const std::size_t end = std::min(word.find('x'), word.size());
    std::int64_t extent = 0;
    if (!parse_whole(word.substr(0, end), extent) || extent < 0) return false;
    if (extent > 0 && items > kItemsMax / static_cast<std::uint64_t>(extent)) return false;
    items *= static_cast<std::uint64_t>(extent);
    extents.push_back(extent);
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  shape = Shape(std::span<const std::int64_t>(extents));
  return true;
}

bool parse_dtype(std::string_view word, DType& dtype) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    dtype = static_cast<DType>(i);
    if (dtype != DType::bytes && to_string(dtype) == word) return true;
  }
  return false;
}

bool parse_line(std::string_view line, CheckpointManifest& manifest) {
  const std::string_view noun = take_word(line);
  if (noun == "step") return parse_whole(line, manifest.step);
  const bool is_tensor = noun == "tensor";
  if (!is_tensor && noun != (manifest.version == 1 ? "text" : "bytes")) return false;
  std::uint32_t crc = 0;
  if (!parse_whole(take_word(line), crc, 16)) return false;
  const auto fits = [](std::uint64_t offset, std::uint64_t bytes) {
    return bytes <= std::numeric_limits<std::uint64_t>::max() - offset;
  };
  if (is_tensor) {
    TrainingCheckpoint::TensorPlace place{
        .name = {}, .shape = {}, .offset_bytes = manifest.tensor_bytes(), .crc32c = crc};
    if (!parse_dtype(take_word(line), place.dtype)) return false;
    if (!parse_shape(take_word(line), place.shape)) return false;
    place.name = line;
    if (line.empty() || !fits(place.offset_bytes, tensor_bytes_of(place))) return false;
    manifest.tensors.push_back(std::move(place));
  } else {
    TrainingCheckpoint::BytesPlace place{
        .name = {}, .offset_bytes = manifest.bytes_bytes(), .crc32c = crc};
    if (!parse_whole(take_word(line), place.size_bytes)) return false;
    place.name = line;
    if (line.empty() || !fits(place.offset_bytes, place.size_bytes)) return false;
    manifest.bytes.push_back(std::move(place));
  }
  return true;
}

/// Returns the lines before the checksum, if it is theirs.
std::string_view checked_lines(std::string_view text, const std::string& file) {
  if (text.size() < kChecksumLine || !text.ends_with('\n') ||
      !text.substr(text.size() - kChecksumLine).starts_with(kChecksum)) {
    throw damaged_checkpoint(file, "the manifest doesn't end with its checksum");
  }
  const std::string_view lines = text.substr(0, text.size() - kChecksumLine);
  const std::string expected = fmt::format("{:08x}", crc32c(lines));
  const std::string_view found = text.substr(lines.size() + kChecksum.size(), 8);
  if (found != expected) {
    throw damaged_checkpoint(
        file, fmt::format("the manifest's checksum is {}, by its lines {}", found, expected));
  }
  return lines;
}

}  // namespace

Error damaged_checkpoint(const std::string& file, std::string_view what) {
  return Error(ErrorCode::data_loss,
               fmt::format("not a whole training checkpoint: {}; take an older one", what))
      .at_file(file);
}

std::uint64_t tensor_bytes_of(const TrainingCheckpoint::TensorPlace& place) {
  return static_cast<std::uint64_t>(place.shape.items()) * item_bytes(place.dtype);
}

std::uint64_t CheckpointManifest::tensor_bytes() const {
  return tensors.empty() ? 0 : tensors.back().offset_bytes + tensor_bytes_of(tensors.back());
}

std::uint64_t CheckpointManifest::bytes_bytes() const {
  return bytes.empty() ? 0 : bytes.back().offset_bytes + bytes.back().size_bytes;
}

std::string CheckpointManifest::to_text() const {
  std::string text = fmt::format("{}{}\nstep {}\n", kManifestMagic, kVersion, step);
  for (const TrainingCheckpoint::TensorPlace& place : tensors) {
    text += fmt::format("tensor {:08x} {} {} {}\n", place.crc32c, to_string(place.dtype),
                        shape_text(place.shape), place.name);
  }
  for (const TrainingCheckpoint::BytesPlace& place : bytes) {
    text += fmt::format("bytes {:08x} {} {}\n", place.crc32c, place.size_bytes, place.name);
  }
  return text + fmt::format("{}{:08x}\n", kChecksum, crc32c(text));
}

CheckpointManifest CheckpointManifest::from_text(std::string_view text, const std::string& file) {
  if (!text.starts_with(kManifestMagic)) {
    throw damaged_checkpoint(file,
                             fmt::format("the manifest doesn't begin with '{}'", kManifestMagic));
  }
  const std::string_view first = text.substr(0, text.find('\n'));
  CheckpointManifest manifest{.version = 0};
  int& version = manifest.version;
  if (!parse_whole(first.substr(kManifestMagic.size()), version)) version = 0;
  if (version > kVersion) {
    throw later_format("the training checkpoint", static_cast<std::uint64_t>(version), kVersion)
        .at_file(file);
  }
  std::string_view lines = checked_lines(text, file);
  for (int number = 1; !lines.empty(); ++number) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (number == 1 ? version < 1 : !parse_line(line, manifest)) {
      throw damaged_checkpoint(
          file, fmt::format("line {} of its manifest is '{}', expected step N, tensor CRC TYPE "
                            "SHAPE NAME or {} CRC COUNT NAME",
                            number, line, version == 1 ? "text" : "bytes"));
    }
  }
  return manifest;
}

}  // namespace infeed::detail
