#include "infeed/records/url_object.h"

#include "remote/http/url_file.h"

namespace infeed {

UrlObject examine_url(const std::string& url, const UrlOptions& options) {
  const detail::UrlFile file(url, options);
  const detail::ObjectIdentity identity = file.transfers().identity();
  return {identity.size_bytes, identity.etag.empty() ? identity.last_modified : identity.etag};
}

}  // namespace infeed
