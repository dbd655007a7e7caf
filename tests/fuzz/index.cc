#include <vector>

#include <infeed/error.h>
#include <infeed/records/record_index.h>

#include "fuzz.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"

/// Index files of any bytes: refused with an Error, or good, and then they survive being written
/// again. Whatever they claim about a data file, only its real records come out.
namespace infeed::fuzz {
namespace {

const std::vector<std::string>& payloads() {
  static const std::vector<std::string> kPayloads = {"hello", "", std::string(40, 'x'),
                                                     "123456789"};
  return kPayloads;
}

/// The first byte chooses: any bytes, or a body that gets magic number and checksum.
std::string assemble(Input& input) {
  if (input.byte() % 2 == 0) return std::string(input.rest());
  const std::string body = "INFEEDIX" + std::string(input.rest());
  return body + test::little(crc32c(body));
}

void require_expected(const Error& error) {
  require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition,
          "a bad index is refused as what it is");
}

void require_written_alike(const RecordIndex& index) {
  static const TemporaryFolder folder(test::memory_folder());
  write_index(index, folder.file("index"));
  require(read_index(folder.file("index")) == index, "an index is read back as it was written");
  write_dali_index(index, folder.file("index"));
  require(read_index(folder.file("index")).offsets == index.offsets,
          "DALI's index is read back as it was written");
}

/// `index` may point anywhere into a good file.
void require_only_real_records(RecordIndex index) {
  static const MemoryFile data;
  static const std::string bytes = test::frame(payloads());
  static const std::string file = data.write(bytes);
  try {
    require_index_of(index, file);
  } catch (const Error& error) {
    require_expected(error);
  }
  index.ends_crc = 0;
  index.offsets.back() = bytes.size();
  try {
    const IndexedRecords records(file, std::move(index));
    for (std::uint64_t i = 0; i < records.size(); ++i) {
      const Record record = records.read(i);
      const auto found = std::find(payloads().begin(), payloads().end(), record.bytes());
      require(found != payloads().end(), "only real records come out");
    }
  } catch (const Error& error) {
    require_expected(error);
  }
}

}  // namespace

void check(Input input) {
  const MemoryFile memory;
  RecordIndex index;
  try {
    index = read_index(memory.write(assemble(input)));
  } catch (const Error& error) {
    require_expected(error);
    return;
  }
  require(std::is_sorted(index.offsets.begin(), index.offsets.end()), "offsets ascend");
  require_written_alike(index);
  require_only_real_records(std::move(index));
}

}  // namespace infeed::fuzz
