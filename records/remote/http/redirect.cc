#include "remote/http/redirect.h"

#include <memory>
#include <strings.h>

namespace infeed::detail {
namespace {

using UrlParts = std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)>;

std::string part_of(const UrlParts& url, CURLUPart part) {
  char* text = nullptr;
  if (::curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&::curl_free)> owned(text, &::curl_free);
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// Resolves `next` as a reference in an answer of `base`.
Origin resolve(const std::string& base, const std::string& next) {
  const UrlParts url(::curl_url(), &::curl_url_cleanup);
  if (url == nullptr) return {};
  for (const std::string& step : {base, next}) {
    if (step.empty()) continue;
    const CURLUcode code = ::curl_url_set(url.get(), CURLUPART_URL, step.c_str(), CURLU_URLENCODE);
    if (code != CURLUE_OK) return {};
  }
  return {part_of(url, CURLUPART_SCHEME), part_of(url, CURLUPART_HOST),
          part_of(url, CURLUPART_PORT)};
}

}  // namespace

Origin Origin::of(const std::string& url) { return resolve(url, {}); }

bool Origin::may_have_password_of(const Origin& asked) const { return *this == asked; }

std::optional<Origin> redirected_to(CURL* easy, std::string_view header) {
  constexpr std::string_view kName = "location:";
  if (header.size() < kName.size() ||
      ::strncasecmp(header.data(), kName.data(), kName.size()) != 0) {
    return std::nullopt;
  }
  header.remove_prefix(kName.size());
  const std::size_t begin = header.find_first_not_of(" \t");
  if (begin == header.npos) return std::nullopt;
  header.remove_prefix(begin);
  header = header.substr(0, header.find_last_not_of(" \t\r\n") + 1);
  const char* asked = nullptr;
  ::curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &asked);
  return resolve(asked == nullptr ? "" : asked, std::string(header));
}

}  // namespace infeed::detail
