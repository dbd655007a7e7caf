#include <cerrno>
#include <filesystem>
#include <sys/stat.h>

#include <infeed/convert/example_input.h>
#include <infeed/records/file.h>

namespace infeed {

InputFile examine_input_file(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw system_error("examine", file, errno);
  return {.path = std::filesystem::absolute(file).lexically_normal().string(),
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                         std::int64_t{status.st_mtim.tv_nsec}};
}

}  // namespace infeed
