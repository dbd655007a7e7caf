
#include "infeed/error.h"
#include "infeed/records/files.h"
#include "infeed/records/url_object.h"
#include "infeed/records/url_upload.h"
#include "io/remote_files.h"

/// Takes the place of remote/ where INFEED_REMOTE is OFF.
namespace infeed {
namespace {

[[noreturn]] void refuse(const std::string& url) {
  throw Error(ErrorCode::failed_precondition,
              "this build of infeed reads no URLs, nor writes them; build it with "
              "-DINFEED_REMOTE=ON (it needs "
              "libcurl and OpenSSL), or copy the file to a disk")
      .at_file(redacted_url(url));
}

}  // namespace

// UrlOptions::credentials is a null pointer in such a build.
std::shared_ptr<SharedCredentials> share_credentials() { return nullptr; }

UrlObject examine_url(const std::string& url, const UrlOptions&) { refuse(url); }

void upload_file(const std::string&, const std::string& url, const UploadOptions&) { refuse(url); }
void upload_text(std::string_view, const std::string& url, const UploadOptions&) { refuse(url); }
void remove_object(const std::string& url, const UploadOptions&) { refuse(url); }

namespace detail {

std::unique_ptr<InputFile> open_url_file(const std::string& url, const UrlOptions&) { refuse(url); }
OpenedSource open_url_source(const std::string& url, const SourceOptions&) { refuse(url); }
std::vector<std::string> match_urls(const std::string& pattern) { refuse(pattern); }

}  // namespace detail
}  // namespace infeed
