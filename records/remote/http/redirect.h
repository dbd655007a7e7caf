#pragma once

#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Who answers for a URL.
struct Origin {
  std::string scheme = {};
  std::string host = {};
  std::string port = {};

  /// With empty parts where libcurl can't take the URL apart.
  static Origin of(const std::string& url);

  /// Whether a password in ~/.netrc, which knows hosts but neither ports nor schemes, may be sent here
  /// after a redirect from `asked`: only to the very same server. Who answers at another port, host or
  /// scheme was chosen by the one that redirects, not by the user.
  bool may_have_password_of(const Origin& asked) const;

  bool operator==(const Origin&) const = default;
};

/// Where an answer sends, when `header` is its line "Location: ..."; relative to the URL that `easy`
/// asked last.
std::optional<Origin> redirected_to(CURL* easy, std::string_view header);

}  // namespace infeed::detail
