#include "infeed/records/byte_stream.h"

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "io/byte_source.h"

namespace infeed {

class ByteStream::State {
 public:
  State(const std::string& file, Compression compression, const UrlOptions& url)
      : file_(redacted_url(file)),
        source_(detail::open_source(file, {.compression = compression, .url = url}).source) {}

  std::size_t read(std::span<char> into) {
    try {
      std::size_t done = 0;
      while (done < into.size()) {
        const std::size_t got = source_->read(into.subspan(done));
        if (got == 0) break;
        done += got;
      }
      return done;
    } catch (const detail::StreamDamage& damage) {
      throw Error(ErrorCode::data_loss, damage.message).at_file(file_);
    }
  }

  const std::string& file() const { return file_; }

 private:
  const std::string file_;
  std::unique_ptr<detail::ByteSource> source_;
};

ByteStream::ByteStream(const std::string& file, Compression compression, const UrlOptions& url)
    : state_(std::make_unique<State>(file, compression, url)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

std::size_t ByteStream::read(std::span<char> into) { return state_->read(into); }
const std::string& ByteStream::file() const { return state_->file(); }

}  // namespace infeed
