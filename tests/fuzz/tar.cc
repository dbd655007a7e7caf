#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/tar.h>

#include "fuzz.h"

/// Tar files of any bytes: skipping counts as many members as reading gives, the list has the same
/// members, and all end.
namespace infeed::fuzz {
namespace {

constexpr int kElementsMax = 100'000;

/// Corrects the headers' checksums, so that the bytes behind them are reached.
std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    std::string_view block(bytes.data() + at, 512);
    if (block.find_first_not_of('\0') == std::string_view::npos) continue;
    bytes.replace(at + 148, 8, "        ");
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof(text), "%06o", sum);
    bytes.replace(at + 148, 7, text, 7);
  }
  return bytes;
}

void require_expected(const Error& error) {
  require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::resource_exhausted,
          "a bad file is refused as what it is");
  require(!error.file().empty(), "an error names its file");
}

struct Found {
  int elements = 0;
  int members = 0;
  bool has_errors = false;
};

Found read_all(const std::string& file, const TarOptions& options) {
  Found found;
  TarSampleReader reader(file, options);
  TarSample sample;
  while (true) {
    require(found.elements < kElementsMax, "reading ends");
    try {
      if (!reader.read(sample)) return found;
      ++found.elements;
      found.members += static_cast<int>(sample.fields.size());
      require(!sample.fields.empty(), "a sample has a field");
      for (const TarField& field : sample.fields) {
        require(sample.find(field.extension) == &field.content, "no field comes twice");
      }
    } catch (const Error& error) {
      require_expected(error);
      ++found.elements;
      found.has_errors = true;
    }
  }
}

int skip_all(const std::string& file, const TarOptions& options) {
  TarSampleReader reader(file, options);
  for (int elements = 0;; ++elements) {
    require(elements < kElementsMax, "skipping ends");
    try {
      if (!reader.skip()) return elements;
    } catch (const Error& error) {
      require_expected(error);
    }
  }
}

void check(Input input) {
  const bool repairs = input.byte() % 2 != 0;
  const MemoryFile memory;
  const std::string bytes(input.rest());
  const std::string file = memory.write(repairs ? with_sums(bytes) : bytes);
  const TarOptions options{.compression = Compression::none, .member_bytes_max = 3000};
  const Found found = read_all(file, options);
  require(skip_all(file, options) == found.elements, "skipping counts what reading gives");
  try {
    const auto members = list_tar(SeekableFile(file, Compression::none));
    require(found.has_errors || members.size() == static_cast<std::size_t>(found.members),
            "the list has the members of all samples");
  } catch (const Error& error) {
    require_expected(error);
    require(found.has_errors, "what the list refuses, reading does, too");
  }
}

}  // namespace
}  // namespace infeed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  infeed::fuzz::check({data, size});
  return 0;
}
