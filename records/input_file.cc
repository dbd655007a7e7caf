#include "input_file.h"

#include "file.h"
#include "infeed/records/files.h"
#include "remote/url_file.h"

namespace infeed::detail {

std::unique_ptr<InputFile> open_input_file(const std::string& name, const UrlOptions& options) {
  if (is_url(name)) return std::make_unique<UrlFile>(name, options);
  return std::make_unique<File>(File::open_to_read(name));
}

}  // namespace infeed::detail
