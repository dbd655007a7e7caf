#include <infeed/device/model_checkpoint.h>
#include <infeed/device/trainer.h>
#include <infeed/error.h>
#include <infeed/records/record_writer.h>

#include "fuzz.h"
#include "records/temporary_files.h"

/// Model checkpoints of any bytes, and of records with right checksums: refused as damage, in memory
/// of the file's size, or a model that is the same when it was saved again.
namespace infeed::fuzz {
namespace {

struct Place {
  testing::TemporaryFolder folder{testing::memory_folder()};
  std::string file = folder.file("m");
};

/// The first byte chooses: bytes, or records, plain or compressed, each as long as a byte before it
/// says; the first takes the text up to a zero.
void write(Input& input, const Place& place) {
  const std::uint8_t kind = input.byte() % 4;
  if (kind == 0) {
    place.folder.write("m", input.rest());
    return;
  }
  RecordWriter writer(place.file, {.compression = kind == 3 ? Compression::gzip : Compression::none,
                                   .existing = ExistingFile::replace});
  std::string_view text = input.rest();
  const std::size_t end = std::min(text.find('\0'), text.size());
  writer.write(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!text.empty()) {
    const std::size_t bytes = 4U * static_cast<std::uint8_t>(text.front());
    text.remove_prefix(1);
    std::string values(text.substr(0, bytes));
    values.resize(bytes);
    writer.write(values);
    text.remove_prefix(std::min(bytes, text.size()));
  }
  writer.close();
}

void check(Input input) {
  static const Place place;
  write(input, place);
  try {
    const ModelCheckpoint first = load_model_checkpoint(place.file);
    save_model_checkpoint(place.file, first.model, first.optimizer);
    const ModelCheckpoint again = load_model_checkpoint(place.file);
    require(again.model.spec() == first.model.spec() &&
                again.optimizer.steps() == first.optimizer.steps(),
            "what was loaded can be saved and loaded");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition,
            "a bad checkpoint is refused as what it is");
  }
}

}  // namespace
}  // namespace infeed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  infeed::fuzz::check({data, size});
  return 0;
}
