#pragma once

#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// The server that answers for a URL.
struct Origin {
  std::string scheme = {};
  std::string host = {};
  std::string port = {};

  /// Returns empty parts where libcurl can't take the URL apart.
  static Origin of(const std::string& url);

  /// True if a password from ~/.netrc, which knows hosts but neither ports nor schemes, may be sent
  /// here after a redirect from `asked`: only if it is the very same server. Another port, host or
  /// scheme was chosen by the redirecting server, not by the user.
  bool may_have_password_of(const Origin& asked) const;

  bool operator==(const Origin&) const = default;
};

/// Returns the target of a redirect, if `header` is an answer's line "Location: ...". It is
/// relative to the URL that `easy` asked last.
std::optional<Origin> redirected_to(CURL* easy, std::string_view header);

}  // namespace infeed::detail
