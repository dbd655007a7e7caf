#include "convert/inputs/zip_members.h"

#include <exception>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <zip.h>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

constexpr std::size_t kStepBytes = std::size_t{1} << 20;

}  // namespace

/// The zip_t, and what it reads through.
class ZipFile::Archive {
 public:
  explicit Archive(std::shared_ptr<const SeekableFile> file) : file_(std::move(file)) {
    zip_error_t error;
    ::zip_error_init(&error);
    zip_source_t* const source = ::zip_source_function_create(&Archive::answer, this, &error);
    if (source != nullptr) zip_ = ::zip_open_from_source(source, ZIP_RDONLY, &error);
    if (zip_ != nullptr) return;
    const std::string reason = ::zip_error_strerror(&error);
    ::zip_source_free(source);
    ::zip_error_fini(&error);
    fail(fmt::format("this is no zip file, or it is cut or damaged: {}", reason));
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { ::zip_discard(zip_); }

  zip_t* get() const { return zip_; }
  const std::shared_ptr<const SeekableFile>& file() const { return file_; }
  /// Behind the byte that was read last.
  std::uint64_t position() const { return position_; }

  /// What the file's own error was, if it had one, else data_loss where libzip stopped reading.
  [[noreturn]] void fail(std::string message) const {
    if (file_error_) std::rethrow_exception(file_error_);
    throw Error(ErrorCode::data_loss, std::move(message))
        .at_file(file_->name())
        .at_offset(position_);
  }

 private:
  /// zip_source_function(3): libzip's calls on the file.
  static zip_int64_t answer(void* self, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    return static_cast<Archive*>(self)->answer(static_cast<char*>(data), bytes, command);
  }

  zip_int64_t answer(char* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return ::zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                                ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                                ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                                ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_ACCEPT_EMPTY, -1);
      case ZIP_SOURCE_READ:
        return read({data, bytes});
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t target = ::zip_source_seek_compute_offset(position_, file_->size_bytes(),
                                                                    data, bytes, &source_error_);
        if (target >= 0) position_ = static_cast<std::uint64_t>(target);
        return target < 0 ? -1 : 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(position_);
      case ZIP_SOURCE_STAT: {
        auto* const stat = reinterpret_cast<zip_stat_t*>(data);
        ::zip_stat_init(stat);
        stat->valid = ZIP_STAT_SIZE;
        stat->size = file_->size_bytes();
        return sizeof(*stat);
      }
      case ZIP_SOURCE_ERROR:
        return ::zip_error_to_data(&source_error_, data, bytes);
      default:  // nothing is to open, close or free; and nothing at all is no empty zip file
        return 0;
    }
  }

  zip_int64_t read(std::span<char> into) {
    try {
      const std::size_t got = file_->read_at(position_, into);
      position_ += got;
      return static_cast<zip_int64_t>(got);
    } catch (const std::exception&) {  // must not pass through libzip
      file_error_ = std::current_exception();
      ::zip_error_set(&source_error_, ZIP_ER_READ, 0);
      return -1;
    }
  }

  const std::shared_ptr<const SeekableFile> file_;
  std::uint64_t position_ = 0;
  std::exception_ptr file_error_;
  zip_error_t source_error_{};
  zip_t* zip_ = nullptr;
};

ZipFile::ZipFile(std::shared_ptr<const SeekableFile> file)
    : archive_(std::make_unique<Archive>(std::move(file))) {}

ZipFile::~ZipFile() = default;

std::vector<ZipFile::Member> ZipFile::members() const {
  std::vector<Member> members;
  const auto count = static_cast<zip_uint64_t>(::zip_get_num_entries(archive_->get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const char* const name = ::zip_get_name(archive_->get(), i, ZIP_FL_ENC_RAW);
    if (name == nullptr) archive_->fail(fmt::format("member {} of {} has no name", i, count));
    if (!std::string_view(name).ends_with('/')) members.push_back({name, i});
  }
  return members;
}

FilePart ZipFile::open(const Member& member) const {
  zip_stat_t stat;
  if (::zip_stat_index(archive_->get(), member.index, 0, &stat) != 0) {
    archive_->fail(fmt::format("member '{}': {}", member.name, ::zip_strerror(archive_->get())));
  }
  const bool is_encrypted = stat.encryption_method != ZIP_EM_NONE;
  const bool is_stored = stat.comp_method == ZIP_CM_STORE;
  if (is_encrypted || (!is_stored && stat.comp_method != ZIP_CM_DEFLATE)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("member '{}' is {}; only stored and deflated members can be read: "
                    "write the file with numpy.savez or savez_compressed",
                    member.name,
                    is_encrypted ? std::string("encrypted")
                                 : fmt::format("compressed by method {}", stat.comp_method)))
        .at_file(archive_->file()->name());
  }
  const auto fail = [&](std::string_view reason) {
    archive_->fail(fmt::format("member '{}' of {} bytes is damaged or cut: {}", member.name,
                               stat.size, reason));
  };
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> content(
      ::zip_fopen_index(archive_->get(), member.index, 0), &::zip_fclose);
  if (!content) fail(::zip_strerror(archive_->get()));

  std::optional<File> copy;
  if (!is_stored) {
    copy =
        make_nameless_file(fmt::format("member '{}' of {}", member.name, archive_->file()->name()));
  }
  std::string step(kStepBytes, '\0');
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  while (const zip_int64_t got = ::zip_fread(content.get(), step.data(), step.size())) {
    if (got < 0) fail(::zip_file_strerror(content.get()));
    const auto got_bytes = static_cast<std::size_t>(got);
    // Bytes of a stored member reach us as they are read.
    if (bytes == 0) begin = archive_->position() - got_bytes;
    bytes += got_bytes;
    if (bytes > stat.size) fail("it goes on behind them");  // no bomb fills the disk
    if (copy) copy->write({step.data(), got_bytes});
  }
  if (bytes != stat.size) fail(fmt::format("it ends after {}", bytes));
  if (!copy) return {archive_->file(), begin, bytes};
  return {std::make_shared<SeekableFile>(archive_->file()->name(), std::move(*copy)), 0, bytes};
}

}  // namespace infeed::tools
