#include "io/input_file.h"

#include <utility>

#include "infeed/records/file.h"
#include "infeed/records/files.h"
#include "io/remote_files.h"

namespace infeed::detail {
namespace {

class LocalFile final : public InputFile {
 public:
  explicit LocalFile(File file) : file_(std::move(file)) {}

  const std::string& name() const override { return file_.name(); }
  std::optional<std::uint64_t> size_bytes() const override { return file_.size_bytes(); }
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const override {
    return file_.read_at(offset, into);
  }

 private:
  const File file_;
};

}  // namespace

std::unique_ptr<InputFile> open_input_file(const std::string& name, const UrlOptions& options) {
  if (is_url(name)) return open_url_file(name, options);
  return std::make_unique<LocalFile>(File::open_to_read(name));
}

}  // namespace infeed::detail
