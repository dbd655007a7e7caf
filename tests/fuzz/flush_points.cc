#include <vector>

#include <infeed/error.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_writer.h>

#include "fuzz.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"

/// Files of flush points of any bytes beside a good gzip file: reading gives all of its records and
/// nothing else.
namespace infeed::fuzz {
namespace {

struct Data {
  TemporaryFolder folder{test::memory_folder()};
  std::string file = folder.file("x");
  std::vector<std::string> payloads;
  std::string ends;  // binds the points to the file

  Data() {
    for (std::size_t i = 0; i < 40; ++i)
      payloads.emplace_back(i * 7 % 60, static_cast<char>('a' + i));
    RecordWriter writer(file, {.compression = Compression::gzip, .flush_point_bytes = 200});
    for (const std::string& payload : payloads) writer.write(payload);
    writer.close();
    ends = read_whole(file + ".points").substr(12, 12);
  }
};

/// The first byte chooses: any bytes, or entries that get everything around them.
std::string assemble(Input& input, const Data& data) {
  if (input.byte() % 2 == 0) return std::string(input.rest());
  const std::string_view entries = input.rest();
  const std::uint64_t count = entries.size() / 24 - (entries.size() < 24 ? 0 : 1);
  const std::string body = "INFEEDGZ" + test::little(std::uint32_t{1}) + data.ends +
                           test::little(count) + std::string(entries);
  return body + test::little(crc32c(body));
}

}  // namespace

void check(Input input) {
  static const Data data;
  data.folder.write("x.points", assemble(input, data));
  ParallelRecordReader reader(data.file, {.threads = 2, .segment_bytes = 64});
  Record record;
  for (std::size_t i = 0; i < data.payloads.size(); ++i) {
    require(reader.next(record), "no record is lost");
    require(record.bytes() == data.payloads[i], "every record is what was written");
    require(record.number() == i, "numbers are right");
  }
  require(!reader.next(record), "no record is invented");
  require(reader.damaged().empty(), "good data is not called damaged");
}

}  // namespace infeed::fuzz
