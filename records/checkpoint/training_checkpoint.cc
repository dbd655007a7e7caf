#include "infeed/records/training_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "checkpoint/checkpoint_manifest.h"
#include "infeed/error.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/detail/nearest_names.h"
#include "infeed/records/file.h"

namespace infeed {
namespace {

std::string read_manifest(const std::string& name) {
  const File file = File::open_to_read(name);
  const std::uint64_t size = file.size_bytes().value_or(0);
  if (size > detail::kManifestBytesMax) {
    throw detail::damaged_checkpoint(
        name, fmt::format("{} bytes where {} bytes at most are expected", size,
                          detail::kManifestBytesMax));
  }
  return read_file(file);
}

void check_size(const std::string& name, std::uint64_t expected) {
  const std::uint64_t size = File::open_to_read(name).size_bytes().value_or(0);
  if (size == expected) return;
  throw detail::damaged_checkpoint(
      name, fmt::format("{} bytes where the manifest names {}", size, expected));
}

/// A part of a file: the bytes of one entry.
struct Part {
  std::string_view noun;
  const std::string& name;
  std::uint64_t offset_bytes;
  std::uint64_t size_bytes;
  std::uint32_t crc32c;
};

/// Opens the file. Checks its size before memory is allocated: it may have been replaced.
File open_with(const std::string& name, const Part& part) {
  File file = File::open_to_read(name);
  const std::uint64_t size = file.size_bytes().value_or(0);
  if (part.offset_bytes > size || part.size_bytes > size - part.offset_bytes) {
    throw detail::damaged_checkpoint(name,
                                     fmt::format("it ends within {} '{}'", part.noun, part.name));
  }
  return file;
}

void read_part(const File& file, const std::string& name, const Part& part, std::span<char> into) {
  const std::size_t got = file.read_at(part.offset_bytes, into);
  if (got == into.size() && crc32c({into.data(), into.size()}) == part.crc32c) return;
  throw detail::damaged_checkpoint(
      name,
      fmt::format("{} '{}' hasn't the checksum that the manifest names", part.noun, part.name));
}

template <class Place>
const Place* find_in(const std::vector<Place>& places, std::string_view name) {
  const auto found = std::ranges::find(places, name, &Place::name);
  return found == places.end() ? nullptr : &*found;
}

/// Says that no entry has the name, and which there are.
template <class Place>
Error no_entry(std::string_view noun, std::string_view name, const std::vector<Place>& places,
               const std::string& folder) {
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(place.name);
  names = detail::names_by_distance(names, name);
  return Error(ErrorCode::failed_precondition,
               fmt::format("the checkpoint has no {} '{}'; it has {}{}", noun, name,
                           names.empty() ? "none" : detail::quoted_names(names),
                           detail::did_you_mean(names, name)))
      .at_file(folder);
}

}  // namespace

TrainingCheckpoint TrainingCheckpoint::open(const std::string& folder) {
  const std::string manifest_file = folder + "/manifest";
  detail::CheckpointManifest manifest =
      detail::CheckpointManifest::from_text(read_manifest(manifest_file), manifest_file);
  TrainingCheckpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.bytes_file_ = folder + "/" + std::string(manifest.bytes_file());
  checkpoint.step_ = manifest.step;
  check_size(folder + "/tensors", manifest.tensor_bytes());
  check_size(checkpoint.bytes_file_, manifest.bytes_bytes());
  checkpoint.tensors_ = std::move(manifest.tensors);
  checkpoint.bytes_ = std::move(manifest.bytes);
  return checkpoint;
}

const TrainingCheckpoint::TensorPlace* TrainingCheckpoint::find_tensor(
    std::string_view name) const {
  return find_in(tensors_, name);
}

const TrainingCheckpoint::BytesPlace* TrainingCheckpoint::find_bytes(std::string_view name) const {
  return find_in(bytes_, name);
}

const TrainingCheckpoint::TensorPlace& TrainingCheckpoint::place_of(std::string_view name) const {
  if (const TensorPlace* const place = find_tensor(name)) return *place;
  throw no_entry("tensor", name, tensors_, folder_);
}

Tensor TrainingCheckpoint::tensor(std::string_view name, DType dtype, const Shape& shape) const {
  const TensorPlace& place = place_of(name);
  if (place.dtype == dtype && place.shape == shape) return read(place);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("tensor '{}' of the checkpoint is {} of shape {}, but {} of shape {} is "
                          "wanted; the checkpoint is of another model",
                          name, to_string(place.dtype), place.shape.to_string(), to_string(dtype),
                          shape.to_string()))
      .at_file(folder_);
}

Tensor TrainingCheckpoint::tensor(std::string_view name) const { return read(place_of(name)); }

std::string TrainingCheckpoint::bytes(std::string_view name) const {
  if (const BytesPlace* const place = find_bytes(name)) return read(*place);
  throw no_entry("bytes", name, bytes_, folder_);
}

Tensor TrainingCheckpoint::read(const TensorPlace& place) const {
  const std::string name = folder_ + "/tensors";
  const Part part{"tensor", place.name, place.offset_bytes, detail::tensor_bytes_of(place),
                  place.crc32c};
  const File file = open_with(name, part);
  Tensor tensor(place.dtype, place.shape);
  const std::span<std::byte> into = tensor.writable_bytes();
  read_part(file, name, part, {reinterpret_cast<char*>(into.data()), into.size()});
  return tensor;
}

std::string TrainingCheckpoint::read(const BytesPlace& place) const {
  const Part part{"bytes", place.name, place.offset_bytes, place.size_bytes, place.crc32c};
  const File file = open_with(bytes_file_, part);
  std::string bytes(place.size_bytes, '\0');
  read_part(file, bytes_file_, part, bytes);
  return bytes;
}

}  // namespace infeed
