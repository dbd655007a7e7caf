#include "infeed/records/detail/data_front.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/byte_source.h"

namespace infeed::detail {
namespace {

/// True for the begin of an HTML page, in letters of either case behind any space.
bool is_html(std::string_view front) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  front.remove_prefix(std::min(front.find_first_not_of(" \t\r\n"), front.size()));
  return std::ranges::any_of(
      std::array<std::string_view, 2>{"<!doctype html", "<html"}, [&](std::string_view begin) {
        return std::ranges::equal(front.substr(0, begin.size()), begin, {}, lower);
      });
}

}  // namespace

Compression recognise_data_compression(std::string_view front) {
  const Compression compression = recognise_compression(front);
  return compression == Compression::zlib ? Compression::none : compression;
}

void refuse_foreign_format(std::string_view front, const std::string& file) {
  struct Format {
    std::string_view begin;
    std::string_view name;
    std::string_view advice;
  };
  constexpr std::string_view kDecompress = "decompress it, or compress it by gzip or zstd";
  constexpr std::string_view kNameRecords =
      "name the record files alone, as with '/*.tfrecord' instead of '/*'";
  static constexpr std::array<Format, 10> kFormats{{
      {"\xfd"
       "7zXZ",
       "compressed by xz", kDecompress},
      {"BZh91AY&SY", "compressed by bzip2", kDecompress},
      {"\x02\x21\x4c\x18", "in LZ4's legacy format", kDecompress},
      {"INFEEDIX", "an index that lies beside a record file", kNameRecords},
      {"INFEEDGZ", "a list of flush points that lies beside a record file", kNameRecords},
      {"INFEEDL4", "in an older infeed's LZ4 format", "write it again from its source"},
      {"PK\x03\x04", "a zip archive", "unpack it"},
      {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"},
      {"PAR1", "a Parquet file", "write its columns as CSV or JSON lines"},
      {"version https://git-lfs.github.", "a pointer of Git LFS and not the file",
       "run git lfs pull"},
  }};
  const auto refuse = [&file](std::string_view name, std::string_view advice) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("the file is {}, which isn't read here: {} (a compression of none reads "
                    "the bytes as they are)",
                    name, advice))
        .at_file(redacted_url(file));
  };
  for (const Format& format : kFormats) {
    if (front.starts_with(format.begin)) refuse(format.name, format.advice);
  }
  if (is_html(front)) {
    refuse("an HTML page", "a server may have sent it instead of the file, as for a login");
  }
}

}  // namespace infeed::detail
