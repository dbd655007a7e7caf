#include "infeed/device/training_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>

#include "train/checkpoint_manifest.h"

namespace infeed {
namespace {

/// Limits: a manifest has a line a tensor, and texts are positions and counters. Larger files
/// aren't ours.
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{16} << 20;
constexpr std::uint64_t kTextBytesMax = std::uint64_t{256} << 20;
/// Number of another model's tensors that an error names; the rest is counted.
constexpr std::size_t kNamedMax = 4;

std::string read_text_file(const std::string& name, std::uint64_t bytes_max) {
  const File file = File::open_to_read(name);
  const std::uint64_t size = file.size_bytes().value_or(0);
  if (size > bytes_max) {
    throw detail::damaged_checkpoint(
        name, fmt::format("{} bytes where {} bytes at most are expected", size, bytes_max));
  }
  return read_file(file);
}

void check_size(const std::string& name, std::uint64_t expected) {
  const std::uint64_t size = File::open_to_read(name).size_bytes().value_or(0);
  if (size == expected) return;
  throw detail::damaged_checkpoint(
      name, fmt::format("{} bytes where the manifest names {}", size, expected));
}

std::vector<NamedText> read_texts(const std::string& name,
                                  const detail::CheckpointManifest& manifest) {
  check_size(name, manifest.text_bytes());
  const std::string all = read_text_file(name, kTextBytesMax);
  if (all.size() != manifest.text_bytes()) {
    throw detail::damaged_checkpoint(name, "it changes while it is read");
  }
  std::vector<NamedText> texts;
  for (const detail::CheckpointManifest::TextPlace& place : manifest.texts) {
    std::string text = all.substr(place.offset_bytes, place.bytes);
    if (crc32c(text) != place.crc32c) {
      throw detail::damaged_checkpoint(
          name, fmt::format("the bytes of text '{}' aren't those of its checksum", place.name));
    }
    texts.push_back({place.name, std::move(text)});
  }
  return texts;
}

/// Returns "a, b, c, d and 2 more".
std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamedMax);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

bool begins_with_one(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

TrainingState state_of(std::uint64_t step, const std::vector<Variable>& variables) {
  TrainingState state{.step = step};
  for (const Variable& variable : variables) {
    state.tensors.push_back({variable.name(), variable.value()});
  }
  return state;
}

TrainingCheckpoint TrainingCheckpoint::open(const std::string& folder) {
  const std::string manifest_file = folder + "/manifest";
  detail::CheckpointManifest manifest = detail::CheckpointManifest::from_text(
      read_text_file(manifest_file, kManifestBytesMax), manifest_file);
  TrainingCheckpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.step_ = manifest.step;
  check_size(folder + "/tensors", manifest.tensor_bytes());
  checkpoint.texts_ = read_texts(folder + "/texts", manifest);
  checkpoint.tensors_ = std::move(manifest.tensors);
  return checkpoint;
}

const std::string* TrainingCheckpoint::find_text(std::string_view name) const {
  const auto found = std::ranges::find(texts_, name, &NamedText::name);
  return found == texts_.end() ? nullptr : &found->text;
}

const std::string& TrainingCheckpoint::text(std::string_view name) const {
  if (const std::string* const found = find_text(name)) return *found;
  std::vector<std::string> names;
  for (const NamedText& text : texts_) names.push_back(text.name);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the checkpoint has no text '{}', only {}", name,
                          names.empty() ? "tensors" : some_of(names)))
      .at_file(folder_);
}

const TrainingCheckpoint::TensorPlace* TrainingCheckpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &TensorPlace::name);
  return found == tensors_.end() ? nullptr : &*found;
}

Tensor TrainingCheckpoint::read(const TensorPlace& place) const {
  const std::string name = folder_ + "/tensors";
  const File file = File::open_to_read(name);
  // Checks the size before memory is allocated: the file may have been replaced.
  const std::uint64_t bytes = static_cast<std::uint64_t>(place.shape.items()) * sizeof(float);
  const std::uint64_t size = file.size_bytes().value_or(0);
  if (place.offset_bytes > size || bytes > size - place.offset_bytes) {
    throw detail::damaged_checkpoint(name, fmt::format("it ends within tensor {}", place.name));
  }
  Tensor tensor(DType::float32, place.shape);
  const std::span<std::byte> into = tensor.writable_bytes();
  const std::span<char> chars(reinterpret_cast<char*>(into.data()), into.size());
  const std::size_t got = file.read_at(place.offset_bytes, chars);
  if (got != chars.size() || crc32c({chars.data(), chars.size()}) != place.crc32c) {
    throw detail::damaged_checkpoint(
        name, fmt::format("the bytes of tensor {} aren't those of its checksum", place.name));
  }
  return tensor;
}

void TrainingCheckpoint::restore(const std::vector<Variable>& variables,
                                 std::span<const std::string_view> except) const {
  std::vector<std::string> differences;
  std::vector<const TensorPlace*> places;
  for (const Variable& variable : variables) {
    places.push_back(find(variable.name()));
    if (places.back() == nullptr) {
      differences.push_back(
          fmt::format("{} {} isn't in it", variable.name(), variable.shape().to_string()));
    } else if (!(places.back()->shape == variable.shape())) {
      differences.push_back(fmt::format("{} is {} in it and {} here", variable.name(),
                                        places.back()->shape.to_string(),
                                        variable.shape().to_string()));
    }
  }
  for (const TensorPlace& place : tensors_) {
    const bool is_known = std::ranges::any_of(
        variables, [&](const Variable& variable) { return variable.name() == place.name; });
    if (!is_known && !begins_with_one(place.name, except)) {
      differences.push_back(fmt::format("{} {} isn't here", place.name, place.shape.to_string()));
    }
  }
  if (!differences.empty()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the checkpoint is of another model or optimiser: {}; build the one "
                            "that it was saved from, or begin in another folder",
                            some_of(differences)))
        .at_file(folder_);
  }
  std::vector<Tensor> values;
  for (const TensorPlace* const place : places) values.push_back(read(*place));
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Variable variable = variables[i];
    variable.assign(values[i]);
  }
}

}  // namespace infeed
