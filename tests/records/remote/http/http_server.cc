#include "records/remote/http/http_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include <infeed/detail/parse_whole.h>

namespace infeed::test {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

bool send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

HttpRequestSeen parse(std::string_view text) {
  HttpRequestSeen request;
  const std::size_t first_space = text.find(' ');
  request.method = text.substr(0, first_space);
  request.path = text.substr(first_space + 1, text.find(' ', first_space + 1) - first_space - 1);
  for (std::size_t at = text.find("\r\n"); at != text.npos; at = text.find("\r\n", at + 2)) {
    const std::string_view line = text.substr(at + 2, text.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != line.npos) request.headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  const std::string range = request.header("range");
  if (range.starts_with("bytes=")) {
    std::string_view numbers = std::string_view(range).substr(6);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (detail::take_number(numbers, first) && numbers.starts_with('-'))
      detail::parse_whole(numbers.substr(1), last);
    request.range = {first, last};
  }
  return request;
}

}  // namespace

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("no port for the test's server");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  stopped_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (Connection& connection : connections_) {
    ::shutdown(connection.descriptor, SHUT_RDWR);
    connection.thread.join();
    ::close(connection.descriptor);
  }
}

std::string HttpServer::url(std::string_view path) const {
  return fmt::format("http://127.0.0.1:{}{}", port_, path);
}

std::vector<HttpRequestSeen> HttpServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HttpServer::accept_all() {
  while (!stopped_) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) continue;
    const int on = 1;  // head and body go out apart, and neither waits for the other
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections_.push_back({descriptor, std::thread([this, descriptor] { serve(descriptor); })});
  }
}

void HttpServer::serve(int descriptor) {
  std::string held;
  const auto receive_more = [&] {
    char bytes[4096];
    const ssize_t got = ::recv(descriptor, bytes, sizeof(bytes), 0);
    if (got > 0) held.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  };
  while (true) {
    std::size_t end = 0;
    while ((end = held.find("\r\n\r\n")) == held.npos) {
      if (!receive_more()) return;
    }
    HttpRequestSeen request = parse(std::string_view(held).substr(0, end));
    held.erase(0, end + 4);
    const std::size_t body_bytes =
        std::strtoul(request.header("content-length").c_str(), nullptr, 10);
    while (held.size() < body_bytes) {
      if (!receive_more()) return;
    }
    request.body = held.substr(0, body_bytes);
    request.connection = descriptor;
    held.erase(0, body_bytes);
    if (answer(descriptor, request)) continue;
    ::shutdown(descriptor, SHUT_RDWR);
    return;
  }
}

/// Returns false when the connection is to end.
bool HttpServer::answer(int descriptor, const HttpRequestSeen& request) {
  HttpReply reply;
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
    seen_.back().number = seen_.size() - 1;
    reply = handler_(seen_.back());
  }
  if (reply.until) wait_for(reply.until);
  std::string head = fmt::format("HTTP/1.1 {} Some Words\r\n", reply.status);
  for (const std::string& header : reply.headers) head += header + "\r\n";
  head += fmt::format("Content-Length: {}\r\n\r\n",
                      reply.content_length.value_or(fmt::format("{}", reply.body.size())));
  if (!send_all(descriptor, head)) return false;
  const std::size_t sent_bytes =
      std::min({reply.body.size(), reply.cut_after.value_or(reply.body.size()),
                reply.hang_after.value_or(reply.body.size())});
  if (!send_all(descriptor, std::string_view(reply.body).substr(0, sent_bytes))) return false;
  if (reply.hang_after) {
    char nothing = 0;
    (void)::recv(descriptor, &nothing, 1, 0);  // until one side ends the connection
    return false;
  }
  return !reply.cut_after;
}

void HttpServer::wait_for(const std::function<bool()>& condition) const {
  while (!stopped_ && !condition()) std::this_thread::yield();
}

HttpReply serve_bytes(const HttpRequestSeen& request, std::string_view body,
                      const std::string& etag) {
  HttpReply reply;
  if (!etag.empty()) reply.headers.push_back("ETag: " + etag);
  const std::string condition = request.header("if-match");
  if (!condition.empty() && condition != etag) return {.status = 412};
  if (!request.range) {
    reply.body = body;
    return reply;
  }
  const auto [first, last] = *request.range;
  if (first >= body.size()) {
    reply.status = 416;
    reply.headers.push_back(fmt::format("Content-Range: bytes */{}", body.size()));
    return reply;
  }
  const std::uint64_t end = std::min<std::uint64_t>(last + 1, body.size());
  reply.status = 206;
  reply.headers.push_back(
      fmt::format("Content-Range: bytes {}-{}/{}", first, end - 1, body.size()));
  reply.body = body.substr(first, end - first);
  return reply;
}

}  // namespace infeed::test
