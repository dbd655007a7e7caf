#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// A web server inside the test that fails on demand.
namespace infeed::test {

struct HttpRequestSeen {
  std::string method;
  std::string path;                                              ///< with the query
  std::map<std::string, std::string> headers;                    ///< names in lower case
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range;  ///< first and last byte
  std::string body = {};
  std::size_t number = 0;  ///< among all requests, from 0
  int connection = -1;     ///< the same for all requests that came by one

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpReply {
  int status = 200;
  std::vector<std::string> headers = {};
  std::string body = {};
  /// The connection is cut after so many bytes of the body.
  std::optional<std::size_t> cut_after = std::nullopt;
  /// The server hangs after so many bytes, until it ends.
  std::optional<std::size_t> hang_after = std::nullopt;
  /// Sent instead of the length of the body.
  std::optional<std::string> content_length = std::nullopt;
  /// The answer waits until this returns true.
  std::function<bool()> until = {};
};

/// Serves 127.0.0.1 on a free port, each connection in its own thread.
///
/// Thread-safety: the handler is called by several threads at once, but under a mutex of the
/// server.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequestSeen&)>;

  explicit HttpServer(Handler handler);
  ~HttpServer();

  /// "http://127.0.0.1:PORT" and `path`.
  std::string url(std::string_view path) const;
  int port() const { return port_; }
  std::vector<HttpRequestSeen> seen() const;
  std::size_t requests() const { return seen().size(); }

 private:
  struct Connection {
    int descriptor;
    std::thread thread;
  };

  void accept_all();
  void serve(int descriptor);
  bool answer(int descriptor, const HttpRequestSeen& request);
  void wait_for(const std::function<bool()>& condition) const;

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<HttpRequestSeen> seen_;
  std::deque<Connection> connections_;
  std::thread acceptor_;
};

/// Returns a good server's answer to a request for (a part of) `body`.
HttpReply serve_bytes(const HttpRequestSeen& request, std::string_view body,
                      const std::string& etag = "\"one\"");

/// Returns bytes that tell where they stand.
inline std::string numbered_bytes(std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += std::to_string(bytes.size()) + ' ';
  bytes.resize(size);
  return bytes;
}

}  // namespace infeed::test
