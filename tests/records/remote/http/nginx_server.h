#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include "records/temporary_files.h"

namespace infeed::test {

/// A real nginx with its own configuration and certificate, which serves a temporary folder.
class NginxServer {
 public:
  NginxServer();
  ~NginxServer();
  NginxServer(const NginxServer&) = delete;
  NginxServer& operator=(const NginxServer&) = delete;

  /// Puts (or changes) a file below "http://127.0.0.1:PORT/".
  void put(std::string_view name, std::string_view bytes) const;
  /// Returns a URL. /NAME is a file; /forbidden, /broken, /moved/NAME and /insecure/NAME answer
  /// 403, 503, a redirect to /NAME, and one from https to http.
  std::string http(std::string_view path) const;
  std::string https(std::string_view path) const;
  /// Returns the file of the certificate's authority.
  std::string ca_file() const { return folder_.file("certificate.pem"); }

  void stop();
  /// Starts it again at the same ports.
  void start();

 private:
  bool try_to_start();
  std::string configuration() const;

  const TemporaryFolder folder_;
  int http_port_ = 0;
  int https_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace infeed::test
