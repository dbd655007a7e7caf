#include "infeed/records/seekable_file.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "infeed/error.h"
#include "infeed/records/byte_stream.h"
#include "infeed/records/detail/data_front.h"
#include "infeed/records/detail/mapped_files.h"
#include "infeed/records/files.h"
#include "infeed/records/page_buffer.h"

namespace infeed {
namespace {

Compression compression_of(const File& file) {
  std::string front(detail::kDataFrontBytes, '\0');
  front.resize(file.read_at(0, front));
  return detail::recognise_data_compression(front);
}

/// Copies a file into one without a name. Errors of reading name it `shown`.
File copy_without_name(const std::string& from, Compression compression, const std::string& shown,
                       const UrlOptions& url = {}) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  File copy = make_nameless_file(shown);
  const PageBuffer step(kStepBytes);
  try {
    ByteStream stream(from, compression, url);
    while (const std::size_t got = stream.read(step)) copy.write({step.data(), got});
  } catch (const Error& error) {
    if (error.file() != from) throw;
    throw Error(error).at_file(shown);
  }
  return copy;
}

std::string path_of(const File& open) { return fmt::format("/proc/self/fd/{}", open.descriptor()); }

bool is_regular(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

/// Refuses /dev/zero and its like, which have no end: a file that isn't regular is copied to its
/// end.
void refuse_device(const std::string& file) {
  struct stat status {};
  if (is_url(file) || ::stat(file.c_str(), &status) != 0) return;
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return;
  throw Error(ErrorCode::invalid_argument,
              "this is a device, which may go on for ever; name a file or a pipe")
      .at_file(file);
}

/// Opens a file's stored bytes for reading at any place.
File open_plain(const std::string& file, const UrlOptions& url) {
  refuse_device(file);
  if (is_url(file) || !is_regular(file)) {
    return copy_without_name(file, Compression::none, redacted_url(file), url);
  }
  return File::open_to_read(file);
}

File open_seekable(const std::string& file, Compression compression, const UrlOptions& url) {
  File plain = open_plain(file, url);
  if (compression == Compression::automatic) compression = compression_of(plain);
  if (compression == Compression::none) return plain;
  return copy_without_name(path_of(plain), compression, redacted_url(file));
}

}  // namespace

File make_nameless_file(const std::string& purpose) {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error) {
    throw Error(ErrorCode::not_found,
                fmt::format("the folder for temporary files can't be used ({}); set TMPDIR to one "
                            "with room for a copy of {}",
                            error.message(), purpose));
  }
  const std::string shown = fmt::format("the copy of {} in {} (TMPDIR)", purpose, folder);
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return {nameless, shown};
  // Not every file system has such files: NFS has none, nor have overlays (containers) and FUSE before
  // Linux 6.1. There it has a name for a moment.
  std::string name = folder + "/infeed-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) throw system_error("create", shown, errno);
  ::unlink(name.c_str());
  return {named, shown};
}

SeekableFile::SeekableFile(std::string name, File file)
    : name_(std::move(name)), file_(std::move(file)), size_bytes_(file_.size_bytes().value_or(0)) {}

SeekableFile::SeekableFile(const std::string& file, Compression compression, const UrlOptions& url)
    : name_(redacted_url(file)),
      file_(open_seekable(file, compression, url)),
      size_bytes_(file_.size_bytes().value_or(0)) {}

void SeekableFile::read_exactly(std::uint64_t offset, std::span<char> into) const {
  const std::size_t got = read_at(offset, into);
  if (got == into.size()) return;
  throw Error(ErrorCode::data_loss,
              fmt::format("the file is cut: {} of {} bytes are there", got, into.size()))
      .at_file(name_)
      .at_offset(offset);
}

std::shared_ptr<const char> SeekableFile::map() const {
  const std::lock_guard lock(mapping_mutex_);
  if (mapping_ == nullptr) mapping_ = detail::map_bytes(file_, size_bytes_);
  return mapping_;
}

std::string SeekableFile::path() const { return path_of(file_); }

}  // namespace infeed
