#include <cerrno>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>

#include <infeed/convert/example_input.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/url_object.h>

namespace infeed {

namespace {

/// True for an absolute path as lexically_normal() makes it, which takes 5 us.
bool is_normal(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with("/.") || path.ends_with("/..")) return false;
  for (const std::string_view part : {"//", "/./", "/../"}) {
    if (path.find(part) != path.npos) return false;
  }
  return true;
}

}  // namespace

InputFile examine_input_file(const std::string& file) {
  if (is_url(file)) {
    const UrlObject object = examine_url(file);
    return {.path = redacted_url(file), .bytes = object.size_bytes, .version = object.version};
  }
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw system_error("examine", file, errno);
  return {
      .path = is_normal(file) ? file : std::filesystem::absolute(file).lexically_normal().string(),
      .bytes = static_cast<std::uint64_t>(status.st_size),
      .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                     std::int64_t{status.st_mtim.tv_nsec}};
}

std::string input_file_name(const std::string& file) {
  // In S3 names the characters ? and # are letters like others.
  const bool has_query = file.starts_with("http://") || file.starts_with("https://");
  const std::size_t path_end = has_query ? file.find_first_of("?#") : file.npos;
  return std::filesystem::path(file.substr(0, path_end)).filename().string();
}

}  // namespace infeed
