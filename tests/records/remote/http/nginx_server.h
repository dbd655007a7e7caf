#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include "records/temporary_files.h"

namespace infeed::testing {

/// A real nginx with a configuration and a certificate of its own, which serves a temporary folder.
class NginxServer {
 public:
  NginxServer();
  ~NginxServer();
  NginxServer(const NginxServer&) = delete;
  NginxServer& operator=(const NginxServer&) = delete;

  /// A file below "http://127.0.0.1:PORT/", there from now on (or changed).
  void put(std::string_view name, std::string_view bytes) const;
  /// /NAME is a file; /forbidden, /broken, /moved/NAME and /insecure/NAME answer 403, 503, a
  /// redirect to /NAME, and one from https to http.
  std::string http(std::string_view path) const;
  std::string https(std::string_view path) const;
  /// The authority of the certificate.
  std::string ca_file() const { return folder_.file("certificate.pem"); }

  void stop();
  /// Again at the same ports.
  void start();

 private:
  bool try_to_start();
  std::string configuration() const;

  const TemporaryFolder folder_;
  int http_port_ = 0;
  int https_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace infeed::testing
