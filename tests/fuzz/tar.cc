#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/tar.h>

#include "fuzz.h"

/// Tar files of any bytes: skipping counts as many samples as reading gives, the list has the same
/// samples, what is left out is listed by all three, and all end.
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
  std::vector<std::string> members;  ///< "KEY EXTENSION OFFSET"
  bool has_errors = false;
  Omissions left_out;
};

std::string text_of(const std::string& key, const std::string& extension) {
  require(!extension.empty(), "a field has an extension");
  require(("/" + key).find("/.DS_Store") == std::string::npos, "a hidden member is no field");
  return key + " " + extension;
}

void require_same(const Omissions& a, const Omissions& b) {
  for (std::size_t i = 0; i < kLeftOutKinds; ++i) {
    const auto why = static_cast<LeftOut>(i);
    require(a[why].count == b[why].count && a[why].first == b[why].first,
            "all leave out the same members");
  }
}

Found read_all(const std::string& file, const TarOptions& options) {
  Found found;
  TarSampleReader reader(file, options);
  TarSample sample;
  while (true) {
    require(found.elements < kElementsMax, "reading ends");
    try {
      if (!reader.read(sample)) {
        found.left_out = reader.left_out();
        return found;
      }
      ++found.elements;
      require(!sample.fields.empty(), "a sample has a field");
      for (const TarField& field : sample.fields) {
        require(sample.find(field.extension) == &field.content, "no field comes twice");
        found.members.push_back(text_of(sample.key, field.extension));
      }
    } catch (const Error& error) {
      require_expected(error);
      ++found.elements;
      found.has_errors = true;
    }
  }
}

Found skip_all(const std::string& file, const TarOptions& options) {
  TarSampleReader reader(file, options);
  for (Found found;; ++found.elements) {
    require(found.elements < kElementsMax, "skipping ends");
    try {
      if (!reader.skip()) {
        found.left_out = reader.left_out();
        return found;
      }
    } catch (const Error& error) {
      require_expected(error);
    }
  }
}

void check_list(const std::string& file, const Found& found) {
  try {
    const TarList list = list_tar(SeekableFile(file, Compression::none));
    std::vector<std::string> members;
    for (const TarSampleMembers& sample : list.samples) {
      require(!sample.members.empty(), "a listed sample has a member");
      for (const TarMember& member : sample.members) {
        members.push_back(text_of(sample.key, split_tar_name(member.name).extension));
      }
    }
    require(found.has_errors || members == found.members,
            "the list has the members of all samples");
    require_same(list.left_out, found.left_out);
  } catch (const Error& error) {
    require_expected(error);
    require(found.has_errors, "what the list refuses, reading does, too");
  }
}

}  // namespace

void check(Input input) {
  const bool repairs = input.byte() % 2 != 0;
  const MemoryFile memory;
  const std::string bytes(input.rest());
  const std::string file = memory.write(repairs ? with_sums(bytes) : bytes);
  const TarOptions options{.compression = Compression::none, .member_bytes_max = 3000};
  const Found found = read_all(file, options);
  const Found skipped = skip_all(file, options);
  require(skipped.elements == found.elements, "skipping counts what reading gives");
  require_same(skipped.left_out, found.left_out);
  check_list(file, found);
}

}  // namespace infeed::fuzz
