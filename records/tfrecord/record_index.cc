#include "infeed/records/record_index.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "infeed/detail/format_version.h"
#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"
#include "infeed/records/file.h"
#include "infeed/records/output_file.h"
#include "io/file_ends.h"
#include "io/little_endian.h"
#include "memory/block.h"
#include "tfrecord/framing.h"
#include "tfrecord/index_header.h"
#include "tfrecord/record_damage.h"

namespace infeed {
namespace {

using detail::kIndexHeaderBytes;
using detail::kIndexMagic;
using detail::kIndexVersion;

Error damaged_index(const std::string& index_file, std::string what) {
  return Error(ErrorCode::data_loss, fmt::format("the index is damaged: {}; make it anew", what))
      .at_file(index_file);
}

/// Throws unless the offsets are as both kinds must have them.
void check_offsets(const RecordIndex& index, const std::string& index_file) {
  for (std::size_t i = 1; i < index.offsets.size(); ++i) {
    if (index.offsets[i] < index.offsets[i - 1] ||
        index.offsets[i] - index.offsets[i - 1] < detail::kFramingBytes) {
      throw damaged_index(index_file, fmt::format("record {} would be from byte {} to byte {}",
                                                  i - 1, index.offsets[i - 1], index.offsets[i]));
    }
  }
}

RecordIndex parse_binary(const std::string& bytes, const std::string& index_file) {
  if (bytes.size() < kIndexHeaderBytes + 4) {
    throw damaged_index(index_file, fmt::format("it has only {} bytes", bytes.size()));
  }
  const std::string_view body(bytes.data(), bytes.size() - 4);
  const auto version = detail::load_little<std::uint32_t>(bytes.data() + 8);
  if (version > kIndexVersion) {
    throw detail::later_format("the index", version, kIndexVersion, "make it anew (infeed index)")
        .at_file(index_file);
  }
  if (version == 0 ||
      detail::load_little<std::uint32_t>(body.data() + body.size()) != crc32c(body)) {
    throw damaged_index(index_file, "its checksum does not match");
  }
  const auto count = detail::load_little<std::uint64_t>(bytes.data() + 24);
  if (count != (body.size() - kIndexHeaderBytes) / 8 || body.size() % 8 != 0) {
    throw damaged_index(index_file,
                        fmt::format("it claims {} records but has {} bytes", count, bytes.size()));
  }
  RecordIndex index;
  index.ends_crc = detail::load_little<std::uint32_t>(bytes.data() + 12);
  index.offsets.resize(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    index.offsets[i] = detail::load_little<std::uint64_t>(body.data() + kIndexHeaderBytes + 8 * i);
  }
  index.offsets[count] = detail::load_little<std::uint64_t>(bytes.data() + 16);
  if (index.offsets[0] != 0) throw damaged_index(index_file, "it does not begin at byte 0");
  return index;
}

RecordIndex parse_dali(std::string_view text, const std::string& index_file) {
  RecordIndex index;
  std::uint64_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, line_end);
    text.remove_prefix(std::min(line_end + 1, text.size()));
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    const bool has_space = detail::take_number(line, offset) && line.starts_with(' ');
    if (!has_space || !detail::parse_whole(line.substr(1), size)) {
      throw damaged_index(index_file,
                          fmt::format("line {} is not two numbers 'offset size'", line_number));
    }
    if (offset != index.offsets.back() ||
        size > std::numeric_limits<std::uint64_t>::max() - offset) {
      throw damaged_index(index_file, fmt::format("line {} begins at byte {}, but byte {} follows",
                                                  line_number, offset, index.offsets.back()));
    }
    index.offsets.push_back(offset + size);
  }
  return index;
}

void write_file(const std::string& name, std::string_view bytes) {
  OutputFile file(name, ExistingFile::replace, Durability::leave_to_system);
  file.write(bytes);
  file.commit();
}

}  // namespace

RecordIndex index_records(const std::string& name, const std::stop_token& stop) {
  RecordReader reader(name);
  if (reader.compression() != Compression::none) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("a {} file cannot be indexed: its records are not at fixed places",
                            to_string(reader.compression())))
        .at_file(name);
  }
  RecordIndex index;
  while (reader.skip(1) == 1) {
    index.offsets.push_back(reader.position().offset);
    if (stop.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read").at_file(name);
    }
  }
  const auto file = detail::open_input_file(name);
  index.ends_crc = detail::crc_of_ends(*file, detail::require_regular(*file));
  return index;
}

void write_index(const RecordIndex& index, const std::string& index_file) {
  std::string bytes(kIndexHeaderBytes + 8 * index.size() + 4, '\0');
  std::copy(kIndexMagic.begin(), kIndexMagic.end(), bytes.begin());
  detail::store_little(bytes.data() + 8, kIndexVersion);
  detail::store_little(bytes.data() + 12, index.ends_crc);
  detail::store_little(bytes.data() + 16, index.file_bytes());
  detail::store_little(bytes.data() + 24, index.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    detail::store_little(bytes.data() + kIndexHeaderBytes + 8 * i, index.offsets[i]);
  }
  char* const end = bytes.data() + bytes.size() - 4;
  detail::store_little(end, crc32c({bytes.data(), bytes.size() - 4}));
  write_file(index_file, bytes);
}

RecordIndex read_index(const std::string& index_file) {
  const std::string bytes = read_file(index_file);
  RecordIndex index = bytes.starts_with(kIndexMagic) ? parse_binary(bytes, index_file)
                                                     : parse_dali(bytes, index_file);
  check_offsets(index, index_file);
  return index;
}

void write_dali_index(const RecordIndex& index, const std::string& index_file) {
  std::string text;
  for (std::size_t i = 0; i < index.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", index.offsets[i],
                   index.offsets[i + 1] - index.offsets[i]);
  }
  write_file(index_file, text);
}

namespace {

void check_belongs(const RecordIndex& index, const detail::InputFile& file) {
  const std::uint64_t size = detail::require_regular(file);
  const auto fail = [&file](std::string what) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the index does not belong to this file as it is now: {}; make the "
                            "index anew",
                            what))
        .at_file(file.name());
  };
  if (size != index.file_bytes()) {
    fail(fmt::format("it is for {} bytes, the file has {}", index.file_bytes(), size));
  }
  // 0 comes from an index without a checksum.
  if (index.ends_crc != 0 && index.ends_crc != detail::crc_of_ends(file, size)) {
    fail("the checksum of the file's ends is another one");
  }
}

}  // namespace

void require_index_of(const RecordIndex& index, const std::string& file) {
  check_belongs(index, *detail::open_input_file(file));
}

struct IndexedRecords::State {
  std::unique_ptr<detail::InputFile> file;
  RecordIndex index;
  Verify verify;
  std::shared_ptr<const std::string> name;
};

IndexedRecords::IndexedRecords(const std::string& name, RecordIndex index, Verify verify) {
  auto file = detail::open_input_file(name);
  check_belongs(index, *file);
  state_ = std::make_unique<const State>(
      State{std::move(file), std::move(index), verify, std::make_shared<const std::string>(name)});
}

IndexedRecords::~IndexedRecords() = default;
IndexedRecords::IndexedRecords(IndexedRecords&&) noexcept = default;
IndexedRecords& IndexedRecords::operator=(IndexedRecords&&) noexcept = default;

std::uint64_t IndexedRecords::size() const { return state_->index.size(); }
const RecordIndex& IndexedRecords::index() const { return state_->index; }

Record IndexedRecords::read(std::uint64_t record) const {
  if (record >= size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record {} is asked for, but the file has {}", record, size()))
        .at_file(state_->file->name());
  }
  const std::uint64_t offset = state_->index.offsets[record];
  const std::uint64_t bytes = state_->index.offsets[record + 1] - offset;
  const auto fail = [&](std::string what) {
    throw detail::lost_record(state_->file->name(), {record, offset}, std::move(what));
  };
  // An index may have been made by hand; nothing is allocated on its word alone.
  if (bytes < detail::kFramingBytes || bytes > state_->index.file_bytes()) {
    fail(fmt::format("the index says that it ends at byte {}; make the index anew",
                     state_->index.offsets[record + 1]));
  }
  detail::BlockReference block(detail::make_lone_block(bytes, state_->name));
  block->stream_offset = offset;
  const std::size_t got = state_->file->read_at(offset, {block->data, bytes});
  if (got != bytes) fail(fmt::format("record is cut: {} of {} bytes are there", got, bytes));
  const std::string_view payload = detail::require_record(block->data, bytes, state_->verify,
                                                          state_->file->name(), {record, offset});
  return Record::adopt(block.release(), payload, record);
}

}  // namespace infeed
