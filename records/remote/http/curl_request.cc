#include "remote/http/curl_request.h"

#include <cerrno>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <sys/socket.h>

#include "infeed/error.h"
#include "infeed/records/file.h"
#include "remote/aws/s3_settings.h"

namespace infeed::detail {

void start_curl() {
  static std::once_flag started;
  std::call_once(started, [] {
    const CURLcode code = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OK) return;
    throw Error(ErrorCode::internal,
                fmt::format("libcurl can't be used: {}", ::curl_easy_strerror(code)));
  });
}

CurlRequest::CurlRequest() : easy_(::curl_easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_USERAGENT, "infeed");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
}

curl_socket_t CurlRequest::open_socket(void* request, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  static_cast<CurlRequest*>(request)->descriptors_errno_ =
      socket < 0 && (errno == EMFILE || errno == ENFILE) ? errno : 0;
  return socket < 0 ? CURL_SOCKET_BAD : socket;
}

std::string CurlRequest::detail() const {
  if (descriptors_errno_ == 0) return error_text_.data();
  return system_error("open a socket", {}, descriptors_errno_).message();
}

void CurlRequest::require(CURLcode code, CURLoption option) {
  if (code == CURLE_OK) return;
  throw Error(ErrorCode::internal,
              fmt::format("libcurl refuses option {}: {}", static_cast<int>(option),
                          ::curl_easy_strerror(code)));
}

void CurlRequest::add_header(const std::string& header) {
  if (header.empty()) return;
  curl_slist* const longer = ::curl_slist_append(headers_.get(), header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)headers_.release();
  headers_.reset(longer);
  set(CURLOPT_HTTPHEADER, headers_.get());
}

std::size_t CurlRequest::receive(char* bytes, std::size_t unit, std::size_t count, void* answer) {
  const auto& [text, bytes_max] = *static_cast<const CollectedAnswer*>(answer);
  if (text->size() + unit * count > bytes_max) return 0;
  try {
    text->append(bytes, unit * count);
  } catch (const std::exception&) {  // must not pass through libcurl
    return 0;
  }
  return unit * count;
}

void CurlRequest::collect_answer(std::string& text, std::size_t bytes_max) {
  answer_ = {&text, bytes_max};
  set(CURLOPT_WRITEFUNCTION, &receive);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer_));
}

void CurlRequest::set_ca_file(const std::string& file) {
  if (!file.empty()) {
    set(CURLOPT_CAINFO, file.c_str());
    return;
  }
  for (const char* const name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const auto named = environment_of_process(name)) {
      set(CURLOPT_CAINFO, named->c_str());
      return;
    }
  }
}

}  // namespace infeed::detail
