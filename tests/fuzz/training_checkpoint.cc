#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/training_checkpoint.h>

#include "fuzz.h"
#include "records/temporary_files.h"

/// Training checkpoints of any manifest, with a right checksum, too, and any files beside it:
/// refused as damage, in memory of the files' size, or a state that is the same after being saved
/// again.
namespace infeed::fuzz {
namespace {

struct Place {
  TemporaryFolder folder{test::memory_folder()};
  Place() { std::filesystem::create_directory(folder.file("c")); }
};

/// The first byte chooses whether the manifest gets a checksum, the next two how long `tensors` and
/// `bytes` are, whose bytes come behind.
void write(Input& input, const Place& place) {
  const bool is_sealed = input.byte() % 2 != 0;
  const std::size_t tensor_bytes = input.byte();
  const std::size_t bytes_bytes = input.byte();
  std::string_view bytes = input.rest();
  const auto take = [&](std::size_t count) {
    std::string taken(bytes.substr(0, count));
    bytes.remove_prefix(taken.size());
    return taken;
  };
  place.folder.write("c/tensors", take(tensor_bytes));
  // The first version of the format names its file so.
  const std::string file_of_bytes = take(bytes_bytes);
  place.folder.write("c/bytes", file_of_bytes);
  place.folder.write("c/texts", file_of_bytes);
  std::string manifest(bytes);
  if (is_sealed) manifest += fmt::format("checksum {:08x}\n", crc32c(manifest));
  place.folder.write("c/manifest", manifest);
}

TrainingState state_in(const TrainingCheckpoint& checkpoint) {
  TrainingState state{.step = checkpoint.step()};
  for (const auto& tensor : checkpoint.tensors()) {
    state.tensors.push_back({tensor.name, checkpoint.read(tensor)});
  }
  for (const auto& bytes : checkpoint.bytes()) {
    state.bytes.push_back({bytes.name, checkpoint.read(bytes)});
  }
  return state;
}

}  // namespace

void check(Input input) {
  static const Place place;
  write(input, place);
  try {
    const TrainingState first = state_in(TrainingCheckpoint::open(place.folder.file("c")));
    const std::string saved = save_training_checkpoint(
        place.folder.file("again"), first, {.keep = 1, .durability = Durability::leave_to_system});
    const TrainingState again = state_in(TrainingCheckpoint::open(saved));
    require(again.step == first.step && again.tensors.size() == first.tensors.size() &&
                again.bytes.size() == first.bytes.size(),
            "what was read can be saved and read");
    for (std::size_t i = 0; i < first.tensors.size(); ++i) {
      require(again.tensors[i].name == first.tensors[i].name &&
                  again.tensors[i].tensor == first.tensors[i].tensor,
              "with the same tensors");
    }
    for (std::size_t i = 0; i < first.bytes.size(); ++i) {
      require(again.bytes[i].bytes == first.bytes[i].bytes, "with the same bytes");
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition,
            "a bad checkpoint is refused as what it is");
  }
}

}  // namespace infeed::fuzz
