#include "sources/data_identity.h"

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string_view>
#include <sys/stat.h>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/url_object.h>

#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kBytesReadMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kBytesOfAFileMin = std::uint64_t{64} << 10;
constexpr std::size_t kFilesReadMax = 10'000;
constexpr std::size_t kUrlsAskedMax = 64;

/// True for `most` of `count` places, evenly chosen, the first and the last one among them.
bool is_chosen(std::size_t index, std::size_t count, std::size_t most) {
  if (count <= most) return true;
  const auto place = [&](std::size_t i) { return i * (most - 1) / (count - 1); };
  return index == 0 || place(index) != place(index - 1);
}

/// True if the error leaves unknown what is there. Its file would get an identity that no later run
/// has: one stale handle cost a run its checkpoints.
bool is_unknown(const Error& error) {
  return is_passing(error) || error.code() == ErrorCode::cancelled ||
         error.code() == ErrorCode::resource_exhausted;
}

/// The checksum of sizes and content.
class ContentChecksum {
 public:
  std::uint32_t value() const { return crc_; }
  void add(std::string_view bytes) { crc_ = extend_crc32c(crc_, bytes); }
  template <std::integral Number>
  void add(Number number) {
    add({reinterpret_cast<const char*>(&number), sizeof(number)});
  }

  /// Adds at most some `bytes_max` of a file, as far as it can be read. A pipe or device is never
  /// read, nor waited for.
  void add_file(const std::string& path, std::uint64_t bytes_max) {
    try {
      const File file = File::open_to_read(path);
      add_content(file, file.size_bytes().value_or(0), bytes_max);
    } catch (const Error& error) {
      if (is_unknown(error)) throw;
      return;  // it counts with its name and size, and reading it says what is wrong
    }
  }

 private:
  void add_content(const File& file, std::uint64_t bytes, std::uint64_t bytes_max) {
    if (bytes <= bytes_max) {
      add_bytes(file, 0, bytes);
      return;
    }
    const std::uint64_t blocks = std::clamp<std::uint64_t>(bytes_max >> 16, 4, 256);
    const std::uint64_t block_bytes = bytes_max / blocks;
    const std::uint64_t step = (bytes - block_bytes) / (blocks - 1);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const std::uint64_t begin = i + 1 == blocks ? bytes - block_bytes : i * step;
      add_bytes(file, begin, begin + block_bytes);
    }
  }

  void add_bytes(const File& file, std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const auto want = std::min<std::uint64_t>(buffer_.size(), end - begin);
      const std::size_t got =
          file.read_at(begin, std::span(buffer_).first(static_cast<std::size_t>(want)));
      if (got == 0) return;
      add(std::string_view(buffer_.data(), got));
      begin += got;
    }
  }

  std::uint32_t crc_ = 0;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10);
};

/// Returns the object; empty if there is none that can be read. A server that is out of order or too
/// slow now is an error, as is a stop: the object behind it is unknown.
std::optional<UrlObject> ask_server(const std::string& url, const UrlOptions& options) {
  try {
    return examine_url(url, options);
  } catch (const Error& error) {
    if (is_unknown(error)) throw;
    return std::nullopt;
  }
}

}  // namespace

DataIdentity::DataIdentity(std::vector<std::string> files, UrlOptions url)
    : count_(files.size()),
      path_of_([names = std::make_shared<const std::vector<std::string>>(std::move(files))](
                   std::size_t index) { return (*names)[index]; }),
      url_(std::move(url)) {
  seen_.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) seen_.push_back(see(path_of_(i)));
}

DataIdentity::DataIdentity(std::size_t count, std::function<std::string(std::size_t index)> path_of)
    : count_(count), path_of_(std::move(path_of)) {}

std::optional<DataIdentity::Seen> DataIdentity::see(const std::string& file) {
  if (is_url(file)) return std::nullopt;
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    const Error error = system_error("examine", file, errno);
    if (is_unknown(error)) throw error;
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  constexpr std::int64_t kSecond = 1'000'000'000;
  return Seen{static_cast<std::uint64_t>(status.st_size),
              status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

const std::string& DataIdentity::text() const {
  std::call_once(is_made_, [this] { text_ = make_text(); });
  return text_;
}

std::string DataIdentity::make_text() const {
  std::vector<std::optional<Seen>> now;
  now.reserve(count_);
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    now.push_back(see(path_of_(i)));
    if (now[i]) total_bytes += now[i]->bytes;
  }
  const std::size_t files_read = std::clamp<std::size_t>(count_, 1, kFilesReadMax);
  const std::uint64_t bytes_of_a_file =
      total_bytes <= kBytesReadMax ? kBytesReadMax
                                   : std::max(kBytesOfAFileMin, kBytesReadMax / files_read);
  std::uint32_t names = 0;
  ContentChecksum sum;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::string path = path_of_(i);
    names =
        extend_crc32c(names, std::filesystem::path(redacted_url(path)).filename().native() + '\n');
    if (is_url(path) && is_chosen(i, count_, kUrlsAskedMax)) {
      const UrlObject object = ask_server(path, url_).value_or(UrlObject());
      total_bytes += object.size_bytes;
      sum.add(object.size_bytes);
      sum.add(object.version);
    }
    sum.add(now[i] ? now[i]->bytes : 0);
    if (now[i] && is_chosen(i, count_, kFilesReadMax)) sum.add_file(path, bytes_of_a_file);
    const bool has_changed = !seen_.empty() && seen_[i] && seen_[i] != now[i];
    if (has_changed) sum.add(seen_[i]->modified_ns);
  }
  return fmt::format("{} file{}, {} bytes, names={:08x}, content={:08x}", count_,
                     count_ == 1 ? "" : "s", total_bytes, names, sum.value());
}

}  // namespace infeed::detail
