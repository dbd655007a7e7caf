#include <cstdio>
#include <fstream>
#include <string>

#include <infeed/error.h>
#include <infeed/records/byte_stream.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/url_object.h>

namespace {

/// True if the error says that this build has no remote reading, how to get it, and for which file.
template <class Use>
bool is_refused(const Use& use) {
  try {
    use("https://user:secret@host/a.tfrecord");
  } catch (const infeed::Error& error) {
    std::puts(error.what());
    return error.code() == infeed::ErrorCode::failed_precondition &&
           error.message().find("reads no URLs") != std::string::npos &&
           error.message().find("-DINFEED_REMOTE=ON") != std::string::npos &&
           error.file() == "https://host/a.tfrecord";
  }
  return false;
}

}  // namespace

int main() {
  if (!is_refused([](const char* url) { infeed::RecordReader reader(url); })) return 1;
  if (!is_refused([](const char* url) { infeed::ByteStream stream(url); })) return 2;
  if (!is_refused([](const char* url) { infeed::read_file(url); })) return 3;
  if (!is_refused([](const char* url) { infeed::match_files(url); })) return 4;
  if (!is_refused([](const char* url) { infeed::examine_url(url); })) return 5;
  if (infeed::share_credentials() != nullptr) return 6;

  // Local files are read as usual.
  const std::string name = "consumer.tfrecord";
  infeed::RecordWriter writer(name, {.existing = infeed::ExistingFile::replace});
  writer.write("a record");
  writer.close();
  infeed::RecordReader reader(name);
  infeed::Record record;
  return reader.read({&record, 1}) == 1 && record.bytes() == "a record" ? 0 : 7;
}
