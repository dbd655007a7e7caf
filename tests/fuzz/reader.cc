#include <optional>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/parallel_record_reader.h>

#include "fuzz.h"
#include "records/codec/lz4_framed.h"
#include "records/codec/zstd_framed.h"

/// RecordReader on any bytes: it never crashes, the policies agree with each other, and all bytes
/// that it doesn't deliver are noted.
namespace infeed::fuzz {
namespace {

using Payloads = std::vector<std::string>;

/// Random bytes hardly ever hold a valid checksum. So an input is a recipe: a byte for the
/// wrapping, then pieces of a file, then changes to it.
std::string assemble(Input& input) {
  const std::uint8_t mode = input.byte();
  if ((mode & 4) != 0) return std::string(input.rest());
  std::string plain;
  std::string file;
  std::vector<std::pair<std::uint16_t, char>> changes;
  std::vector<std::string> blocks;
  const auto end_stream = [&] {
    const int wrapping = mode & 3;
    if (wrapping == 3) {
      if (!plain.empty()) blocks.push_back(std::exchange(plain, {}));
      return;
    }
    const bool is_other = (mode & 8) != 0;
    file += wrapping == 1   ? is_other ? test::zstd(plain) : test::gzip(plain)
              : wrapping == 2 ? is_other ? test::lz4_frame(plain) : test::zlib(plain)
                              : plain;
    plain.clear();
  };
  while (!input.is_empty()) {
    switch (input.byte() % 6) {
      case 0:
        plain += input.bytes(input.byte());
        break;
      case 1:
        plain += test::frame(input.bytes(input.byte()));
        break;
      case 2: {
        const std::size_t size = std::size_t{input.byte()} * 16;
        plain += test::frame(std::string(size, static_cast<char>(input.byte())));
        break;
      }
      case 3: {  // a claim: a valid header of any length
        std::string length(input.bytes(8));
        length.resize(8);
        plain += length + test::little(mask_crc32c(crc32c(length)));
        break;
      }
      case 4:
        end_stream();
        break;
      default: {
        const std::uint16_t at = input.two_bytes();
        changes.emplace_back(at, static_cast<char>(input.byte()));
        break;
      }
    }
  }
  end_stream();
  if (file.empty() && (mode & 3) == 3) {
    file = test::lz4_file(blocks, std::vector<std::size_t>(blocks.size(), 1));
  }
  for (const auto& [at, bits] : changes) {
    if (!file.empty()) file[at % file.size()] = static_cast<char>(file[at % file.size()] ^ bits);
  }
  return file;
}

struct Outcome {
  Payloads payloads;
  std::vector<std::uint64_t> begins;  // begins of the records
  std::optional<Error> error;
  std::vector<DamagedRange> damaged;
  Compression compression = Compression::none;
};

template <class Reader = RecordReader, class Options = RecordReaderOptions>
Outcome read(const std::string& file, const Options& options) {
  Outcome outcome;
  Reader reader(file, options);
  outcome.compression = reader.compression();
  Record record;
  try {
    while (reader.next(record)) {
      outcome.payloads.emplace_back(record.bytes());
      outcome.begins.push_back(record.offset().value() - 12);
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::data_loss, "bad bytes are lost data");
    require(error.file() == file && error.offset() && error.record(), "an error says where");
    require(!reader.next(record), "after an error the file is over");
    outcome.error = error;
  }
  outcome.damaged = reader.damaged();
  if constexpr (std::is_same_v<Reader, RecordReader>) {
    if (outcome.compression == Compression::none) {
      require(reader.bytes_hashed() <= 16 * reader.file_bytes().value() + 1000,
              "headers that lie don't make it hash the same bytes again and again");
    }
  }
  return outcome;
}

bool begins_with(const Payloads& all, const Payloads& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

/// Checks that records and damaged ranges lie side by side without gaps. Returns where they end.
std::uint64_t require_gapless(const Outcome& outcome) {
  std::uint64_t at = 0;
  std::size_t range = 0;
  const auto pass_ranges = [&] {
    for (; range < outcome.damaged.size() && outcome.damaged[range].begin == at; ++range) {
      at = outcome.damaged[range].end;
    }
  };
  for (std::size_t i = 0; i < outcome.payloads.size(); ++i) {
    pass_ranges();
    require(outcome.begins[i] == at, "between records there is nothing but damage");
    at += 16 + outcome.payloads[i].size();
  }
  pass_ranges();
  require(range == outcome.damaged.size(), "damage is where no records are");
  return at;
}

/// Reads by the format's definition, as slowly as can be.
Payloads read_by_definition(std::string_view bytes) {
  Payloads payloads;
  while (bytes.size() >= 16) {
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<std::uint8_t>(bytes[i]);
    if (length > bytes.size() - 16) break;
    const std::string_view payload = bytes.substr(12, length);
    if (test::frame(payload) != bytes.substr(0, 16 + length)) break;
    payloads.emplace_back(payload);
    bytes.remove_prefix(16 + length);
  }
  return payloads;
}

void require_same(const Outcome& one, const Outcome& other) {
  require(one.payloads == other.payloads && one.begins == other.begins, "the same records");
  const auto text = [](const Outcome& outcome) {
    return outcome.error ? std::string(outcome.error->what()) : std::string();
  };
  require(text(one) == text(other), "the same error");
  const auto same_range = [](const DamagedRange& a, const DamagedRange& b) {
    return a.begin == b.begin && a.end == b.end && a.record == b.record && a.message == b.message;
  };
  require(std::equal(one.damaged.begin(), one.damaged.end(), other.damaged.begin(),
                     other.damaged.end(), same_range),
          "the same damage");
}

/// Checks that skipping the first half of the records of `alone` leaves the same rest.
void require_same_behind_skip(const std::string& file, const ParallelRecordReaderOptions& options,
                              const Outcome& alone) {
  ParallelRecordReader reader(file, options);
  const std::size_t half = alone.payloads.size() / 2;
  require(reader.skip(half) == half, "as many can be skipped as there are");
  Payloads rest;
  try {
    for (Record record; reader.next(record);) rest.emplace_back(record.bytes());
    require(!alone.error, "skipping hides no damage behind it");
  } catch (const Error& error) {
    require(alone.error && std::string_view(error.what()) == alone.error->what(),
            "the same error behind what was skipped");
  }
  require(
      std::equal(rest.begin(), rest.end(),
                 alone.payloads.begin() + static_cast<std::ptrdiff_t>(half), alone.payloads.end()),
      "the same records behind what was skipped");
  require(reader.records_passed() == alone.payloads.size(), "it knows how many there were");
}

}  // namespace

void check(Input input) {
  const std::string bytes = assemble(input);
  const MemoryFile memory;
  const std::string file = memory.write(bytes);
  std::optional<Payloads> first_time;
  for (const std::size_t block_bytes : {std::size_t{64}, std::size_t{256} << 10}) {
    const auto with = [&](DamagePolicy policy, Verify verify) {
      return read(file, {.verify = verify, .damage = policy, .block_bytes = block_bytes});
    };
    const Outcome failed = with(DamagePolicy::fail, Verify::everything);
    const Outcome skipped = with(DamagePolicy::skip_and_resynchronise, Verify::everything);
    const Outcome lenient = with(DamagePolicy::stop_like_tensorflow, Verify::everything);
    if (!first_time) first_time = failed.payloads;
    require(first_time == failed.payloads, "the size of blocks changes nothing");
    require(!skipped.error, "skipping never fails");
    require(begins_with(skipped.payloads, failed.payloads), "skipping loses no more than failing");
    require(begins_with(failed.payloads, lenient.payloads), "TensorFlow reads no more");
    require(failed.error.has_value() == !skipped.damaged.empty(), "both see the damage");
    const std::uint64_t end = require_gapless(skipped);
    if (failed.error) {
      require(skipped.damaged[0].begin == failed.error->offset(), "both see it in one place");
    } else {
      require(skipped.payloads == failed.payloads, "a good file is read whole");
    }
    if (failed.compression == Compression::none) {
      require(end == bytes.size(), "records and damage are the whole file");
      require(failed.payloads == read_by_definition(bytes), "as the definition says");
      require(failed.error.has_value() ||
                  (failed.begins.empty()
                       ? bytes.empty()
                       : failed.begins.back() + 16 + failed.payloads.back().size() == bytes.size()),
              "no silent end");
    }
    for (const Outcome* alone : {&failed, &skipped}) {
      const auto policy =
          alone == &failed ? DamagePolicy::fail : DamagePolicy::skip_and_resynchronise;
      const ParallelRecordReaderOptions options = {
          .reader = {.damage = policy, .block_bytes = block_bytes},
          .threads = 2,
          .segment_bytes = 100};
      require_same(read<ParallelRecordReader>(file, options), *alone);
      if (alone == &failed) require_same_behind_skip(file, options, failed);
    }
    for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise}) {
      const Outcome unverified = with(policy, Verify::lengths);
      RecordReader counter(
          file, {.verify = Verify::lengths, .damage = policy, .block_bytes = block_bytes});
      std::uint64_t counted = 0;
      try {
        while (counter.skip(1) == 1) ++counted;
        require(!unverified.error, "skipping records sees the same damage");
      } catch (const Error&) {
        require(unverified.error.has_value(), "skipping records sees the same damage");
      }
      require(counted == unverified.payloads.size(), "as many are passed over as are read");
    }
  }
}

}  // namespace infeed::fuzz
