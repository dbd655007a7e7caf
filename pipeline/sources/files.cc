#include "infeed/pipeline/files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/pipeline/shuffle.h>
#include <infeed/pipeline/slices.h>
#include <infeed/records/whole_set.h>

namespace infeed {
namespace detail {

std::string files_fingerprint(const std::vector<std::string>& files) {
  std::uint64_t total_bytes = 0;
  std::uint32_t crc = 0;
  for (const std::string& file : files) {
    std::error_code failure;
    const std::uintmax_t size = std::filesystem::file_size(file, failure);
    const std::uint64_t bytes = failure ? 0 : size;
    total_bytes += bytes;
    crc = extend_crc32c(crc, std::filesystem::path(file).filename().native());
    crc = extend_crc32c(crc, {reinterpret_cast<const char*>(&bytes), sizeof(bytes)});
  }
  return fmt::format("{} file{}, {} bytes, crc32c={:08x}", files.size(),
                     files.size() == 1 ? "" : "s", total_bytes, crc);
}

}  // namespace detail

Dataset<std::string> files(std::vector<std::string> list, FilesOptions options) {
  const std::size_t count = list.size();
  std::string signature = fmt::format("files({})", detail::files_fingerprint(list));
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(list));
  const Dataset<std::string> names(
      detail::make_slices({"files", std::move(signature), &type_info<std::string>(),
                           std::shared_ptr<const void>(shared, shared->data()), count,
                           [shared](std::size_t index) { return (*shared)[index]; }}));
  detail::named(names.node(), options.name);
  if (!options.shuffle) return names;
  return names | shuffle({.buffer = std::max<std::size_t>(1, count),
                          .seed = options.seed,
                          .global_seed = options.global_seed,
                          .reshuffle_each_iteration = options.reshuffle_each_iteration});
}

Dataset<std::string> files(std::initializer_list<std::string> list, FilesOptions options) {
  return files(std::vector(list), options);
}

Dataset<std::string> files(const std::string& pattern, FilesOptions options) {
  return files(match_whole_sets(pattern), options);
}

}  // namespace infeed
