#pragma once

#include <array>
#include <cstddef>
#include <curl/curl.h>
#include <memory>
#include <string>
#include <string_view>

namespace infeed::detail {

/// A request of libcurl, and the memory that must live as long as it.
class CurlRequest {
 public:
  CurlRequest();
  CurlRequest(const CurlRequest&) = delete;
  CurlRequest& operator=(const CurlRequest&) = delete;

  CURL* easy() const { return easy_.get(); }
  /// Reason of the failure in libcurl's own words; may be empty. libcurl has none for a process that
  /// has no descriptor left.
  std::string detail() const;

  /// Sets an option. Throws Error internal where libcurl refuses it.
  template <class T>
  void set(CURLoption option, T value) {
    require(::curl_easy_setopt(easy(), option, value), option);
  }
  /// Adds "Name: value". Does nothing for an empty text.
  void add_header(const std::string& header);
  void set_ca_file(const std::string& file);
  /// Appends the answer's body to `text`, which must live as long as the request. An answer that
  /// makes it longer than `bytes_max` ends the request with CURLE_WRITE_ERROR.
  void collect_answer(std::string& text, std::size_t bytes_max);

 private:
  struct CollectedAnswer {
    std::string* text = nullptr;
    std::size_t bytes_max = 0;
  };
  struct Cleanup {
    void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
  };
  static void require(CURLcode code, CURLoption option);
  static curl_socket_t open_socket(void* request, curlsocktype purpose, curl_sockaddr* address);
  static std::size_t receive(char* bytes, std::size_t unit, std::size_t count, void* answer);

  CollectedAnswer answer_;
  int descriptors_errno_ = 0;  ///< EMFILE or ENFILE where no socket could be opened
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::unique_ptr<curl_slist, Cleanup> headers_;
  std::unique_ptr<CURL, Cleanup> easy_;
};

/// Starts libcurl once a process. Called before any other of its functions.
void start_curl();

}  // namespace infeed::detail
