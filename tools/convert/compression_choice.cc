#include "convert/compression_choice.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <map>
#include <vector>

#include <infeed/error.h>

#include "cli/option_checks.h"

namespace infeed::tools {
namespace {

const std::map<std::string, Compression> kCompressions{
    {"none", Compression::none}, {"gzip", Compression::gzip}, {"lz4", Compression::lz4}};
constexpr int kGzipLevelMax = 9;
constexpr int kLz4LevelMax = 3;

}  // namespace

void add_compression_options(CLI::App& command, CompressionChoice& choice) {
  std::vector<std::string> names;
  for (const auto& [name, compression] : kCompressions) names.push_back(name);
  command
      .add_option("--compression", choice.name,
                  "none; gzip: smaller, everybody reads it; lz4: several times faster to read, "
                  "and 'lz4 -d' decompresses it")
      ->check(one_of(names))
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--compression-level", choice.level,
                  "0 (fastest) to 9 (smallest) for gzip, of which 4 to 9 are several times slower; "
                  "0 to 3 for lz4; without it 1")
      ->check(CLI::Range(0, kGzipLevelMax));
}

Compression compression_of(const CompressionChoice& choice) {
  const Compression compression = kCompressions.at(choice.name);
  const int level_max = compression == Compression::gzip  ? kGzipLevelMax
                        : compression == Compression::lz4 ? kLz4LevelMax
                                                          : -1;
  if (choice.level.value_or(level_max) <= level_max) return compression;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--compression-level {} doesn't fit --compression {}: gzip has 0 to {}, "
                          "lz4 0 to {}, and none has none",
                          *choice.level, choice.name, kGzipLevelMax, kLz4LevelMax));
}

}  // namespace infeed::tools
