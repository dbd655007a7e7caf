#include "pipeline/drawn_whole/data_files.h"

#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <zlib.h>

#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "pipeline/drawn_whole/words.h"
#include "records/arrays/npy_bytes.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"

namespace infeed::test {
namespace {

/// Returns a name that describes the content of the file.
std::string file_name(const std::string& folder, const Step& step, std::int64_t number,
                      std::string_view extension) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const auto& [name, value] : step.numbers) {
    for (const char c : fmt::format("{}={};", name, value)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    }
  }
  return fmt::format("{}/{}-{:016x}-{:05}{}", folder, step.op, hash, number, extension);
}

/// Many members with all that a header may have, its checksum too. Some extra fields are so long that
/// a header is read in two parts.
std::string gzipped_in_members(const std::string& bytes, Words& words) {
  std::string file;
  std::uint64_t long_fields = words.chance(0.5) ? words.between(1, 40) : 0;
  for (std::size_t at = 0; at < bytes.size() || file.empty();) {
    const std::string piece = bytes.substr(at, words.between(20, 400));
    at += piece.size();
    const bool has_extra = words.chance(0.5);
    const bool has_name = words.chance(0.5);
    std::string header("\x1f\x8b\x08", 3);
    header += static_cast<char>(2 | (has_extra ? 4 : 0) | (has_name ? 8 : 0));
    header += test::little_number(0, 4) + std::string("\0\x03", 2);
    if (has_extra) {
      const std::string extra(long_fields > 0 ? words.below(65'000) : 5, 'e');
      if (long_fields > 0) --long_fields;
      header += test::little_number(extra.size(), 2) + extra;
    }
    if (has_name) header += std::string("name") + '\0';
    const auto sum_of = [](const std::string& text) {
      return crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
    };
    file += header + test::little_number(sum_of(header) & 0xFFFF, 2) + test::raw_deflate(piece) +
            test::little_number(sum_of(piece), 4) + test::little_number(piece.size(), 4);
  }
  return file;
}

DamageKind damage_of(const Step& step, std::int64_t file) {
  if (step.get("damage_file", -1) != file) return DamageKind::none;
  return static_cast<DamageKind>(step.get("damage", 0));
}

void damage(std::string& bytes, DamageKind kind, std::int64_t permille) {
  const std::size_t at = bytes.size() * static_cast<std::size_t>(permille) / 1000;
  switch (kind) {
    case DamageKind::flip:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 0x11);
      break;
    case DamageKind::cut:
      bytes.resize(at);
      break;
    case DamageKind::insert:
      bytes.insert(at, "inserted bytes that are nothing");
      break;
    case DamageKind::empty:
      bytes.clear();
      break;
    case DamageKind::none:
    case DamageKind::missing:
      break;
  }
}

/// Writes a file unless it exists; no process sees a part of it.
void write_once(const std::string& name, const std::function<std::string()>& make) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (std::filesystem::exists(name)) return;
  const std::string making = fmt::format("{}.making-{}", name, ::getpid());
  write_whole(making, make());
  std::filesystem::rename(making, name);
}

/// All files of a step; `make` gives the bytes of one, before they are packed and damaged.
std::vector<std::string> write_files(
    const std::string& folder, const Step& step, std::string_view extension,
    const std::function<std::string(Words& words, std::int64_t file)>& make) {
  std::vector<std::string> names;
  for (std::int64_t file = 0; file < step.at("files"); ++file) {
    names.push_back(file_name(folder, step, file, extension));
    const DamageKind kind = damage_of(step, file);
    if (kind == DamageKind::missing) continue;
    write_once(names.back(), [&] {
      Words words(step.count_at("data_seed"), static_cast<std::uint64_t>(file));
      std::string bytes = make(words, file);
      if (step.at("pack") == 1) bytes = gzip(bytes);
      if (step.at("pack") == 2) bytes = gzipped_in_members(bytes, words);
      damage(bytes, kind, step.at("damage_permille"));
      return bytes;
    });
  }
  return names;
}

std::string drawn_text(Words& words, std::int64_t bytes_max) {
  std::string text(static_cast<std::size_t>(words.between(0, bytes_max)), ' ');
  const std::uint64_t first = words();
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + (first + i * i / 7) % 26);
  }
  return text;
}

Sentence drawn_sentence(Words& words, std::int64_t number, std::int64_t text_bytes) {
  Sentence sentence{.tokens = {}, .number = number, .text = drawn_text(words, text_bytes)};
  sentence.tokens.resize(words.below(words.chance(0.05) ? 300 : 12));
  for (std::int32_t& token : sentence.tokens) token = static_cast<std::int32_t>(words.below(5000));
  return sentence;
}

std::string example_bytes(Words& words, const Step& step, std::int64_t number) {
  const Sentence sentence = drawn_sentence(words, number, step.at("text_bytes"));
  ExampleBuilder builder;
  const std::int64_t bad = step.get("bad", 0);
  if (bad != 0 && number % bad == bad - 1) {
    builder.floats("tokens", 1.5F);
  } else {
    const Numbers tokens(sentence.tokens.begin(), sentence.tokens.end());
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
  }
  builder.integers("number", number);
  builder.bytes("text", sentence.text);
  const auto value = static_cast<float>(number);
  const std::array<float, 4> values{value, value + 1, -value, 0.5F * value};
  builder.floats("values", std::span<const float>(values));
  return builder.encode();
}

/// Values of a step's number "packing".
constexpr std::int64_t kGzipMembers = 5;

RecordWriterOptions writer_options(std::int64_t packing) {
  RecordWriterOptions options;
  const bool is_plain = packing == 0 || packing == kGzipMembers;
  options.compression = is_plain       ? Compression::none
                        : packing == 2 ? Compression::zlib
                        : packing == 3 ? Compression::lz4
                                       : Compression::gzip;
  if (packing == 4) options.flush_point_bytes = 4096;
  options.index = packing == 0;
  options.existing = ExistingFile::replace;
  return options;
}

/// Writes index or flush points beside `name`, which describe it without its damage.
std::string record_bytes(const std::string& name, const Step& step, std::int64_t file) {
  const std::int64_t packing = step.at("packing");
  const std::string whole = fmt::format("{}.whole-{}", name, ::getpid());
  RecordWriter writer(whole, writer_options(packing));
  Words words(step.count_at("data_seed"), static_cast<std::uint64_t>(file));
  const std::int64_t rows = step.at("rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    writer.write(example_bytes(words, step, file * rows + row));
  }
  writer.close();
  if (packing == 0 && step.is_set("index")) write_index(writer.index(), name + ".index");
  if (std::filesystem::exists(whole + ".points")) {
    std::filesystem::rename(whole + ".points", name + ".points");
  }
  std::string bytes = read_whole(whole);
  std::filesystem::remove(whole);
  if (packing == kGzipMembers) return gzipped_in_members(bytes, words);
  return bytes;
}

}  // namespace

std::vector<std::string> record_files(const std::string& folder, const Step& step) {
  std::vector<std::string> names;
  for (std::int64_t file = 0; file < step.at("files"); ++file) {
    names.push_back(file_name(folder, step, file, ".tfrecord"));
    const DamageKind kind = damage_of(step, file);
    if (kind == DamageKind::missing) continue;
    write_once(names.back(), [&] {
      std::string bytes = record_bytes(names.back(), step, file);
      damage(bytes, kind, step.at("damage_permille"));
      return bytes;
    });
  }
  return names;
}

ExampleSchema<Sentence> sentence_schema() {
  return ExampleSchema<Sentence>()
      .feature("tokens", &Sentence::tokens)
      .feature("number", &Sentence::number)
      .feature("text", &Sentence::text);
}

ExampleSchema<Sample> sample_schema() {
  return ExampleSchema<Sample>()
      .feature("values", &Sample::values)
      .feature("number", &Sample::number);
}

ColumnSchema example_columns(std::int64_t kind) {
  ColumnSchema schema;
  if (kind == 0) schema.ragged("tokens", DType::int32);
  if (kind == 1) schema.padded("tokens", DType::int64, std::nullopt, -1);
  schema.column("values", DType::float32, {4}).column("number", DType::int64);
  if (kind != 1) schema.bytes("text");
  return schema;
}

std::vector<std::string> text_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".txt", [&](Words& words, std::int64_t) {
    std::string bytes;
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      bytes += fmt::format("{} {}", row, drawn_text(words, step.at("text_bytes")));
      if (words.chance(0.05)) bytes += "\n";
      bytes += words.chance(0.1) ? "\r\n" : "\n";
    }
    return bytes;
  });
}

std::vector<std::string> csv_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".csv", [&](Words& words, std::int64_t file) {
    std::string bytes = "number,value,text\n";
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      const bool is_quoted = words.chance(0.2);
      bytes += fmt::format("{},{}.25,{}{}{}\n", file * 1000 + row, row % 17, is_quoted ? "\"," : "",
                           drawn_text(words, step.at("text_bytes")), is_quoted ? "\n\"" : "");
    }
    return bytes;
  });
}

ColumnSchema csv_columns() {
  return ColumnSchema()
      .column("number", DType::int64)
      .column("value", DType::float32)
      .bytes("text");
}

std::vector<std::string> json_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".jsonl", [&](Words& words, std::int64_t file) {
    std::string bytes;
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      std::string tokens;
      for (std::uint64_t i = words.below(9); i > 0; --i) {
        tokens += fmt::format("{}{}", words.below(900), i == 1 ? "" : ", ");
      }
      bytes += fmt::format("{{\"number\": {}, \"tokens\": [{}], \"text\": \"{}\"}}\n",
                           file * 1000 + row, tokens, drawn_text(words, step.at("text_bytes")));
    }
    return bytes;
  });
}

ColumnSchema json_columns() {
  return ColumnSchema().column("number", DType::int64).ragged("tokens", DType::int32).bytes("text");
}

std::vector<std::string> fixed_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".bin", [&](Words&, std::int64_t file) {
    std::string bytes;
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      bytes += fmt::format("{:>16}", file * 1000 + row);
    }
    return bytes;
  });
}

std::vector<std::string> npy_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".npy", [&](Words&, std::int64_t file) {
    std::vector<std::int64_t> values;
    for (std::int64_t row = 0; row < step.at("rows"); ++row) values.push_back(file * 1000 + row);
    return test::npy_of("<i8", fmt::format("({},)", values.size()), test::bytes_of(values));
  });
}

std::vector<std::string> tar_files(const std::string& folder, const Step& step) {
  return write_files(folder, step, ".tar", [&](Words& words, std::int64_t file) {
    std::vector<std::pair<std::string, std::string>> members;
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      const std::string key = fmt::format("s/{}", file * 1000 + row);
      members.emplace_back(key + ".txt", fmt::format("{}", row));
      members.emplace_back(key + ".bin", drawn_text(words, step.at("text_bytes")));
    }
    return test::tar_of(members);
  });
}

std::string class_folder(const std::string& folder, const Step& step) {
  const std::string path = file_name(folder, step, 0, "");
  Words words(step.count_at("data_seed"), 0);
  for (const char* const name : {"cat", "dog"}) {
    std::filesystem::create_directories(path + "/" + name);
    for (std::int64_t row = 0; row < step.at("rows"); ++row) {
      const std::string text = drawn_text(words, step.at("text_bytes"));
      write_once(fmt::format("{}/{}/{}.txt", path, name, row), [&] { return text; });
    }
  }
  return path;
}

}  // namespace infeed::test
