// libcurl and libcrypto, loaded when the first URL is read (INFEED_LOAD_CURL). Linked, Debian's libcurl
// brings 26 libraries more into every process that never reads a URL, and into a Python wheel.
//
// The functions here have the names of the libraries' own and hand everything on. They are hidden, so
// that no other library of the process meets them.
#pragma GCC visibility push(hidden)
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#pragma GCC visibility pop

#include <cstdarg>
#include <dlfcn.h>
#include <fmt/format.h>

#include "infeed/error.h"

namespace {

struct Library {
  const char* file;
  const char* advice;
};
constexpr Library kCurl = {
    "libcurl.so.4",
    "install libcurl 7.85 or newer (Debian's and Ubuntu's package libcurl4, libcurl4t64 "
    "from Debian 13 and Ubuntu 24.04 on; Fedora's libcurl)"};
constexpr Library kCrypto = {"libcrypto.so.3",
                             "install OpenSSL 3 (Debian's and Ubuntu's package libssl3, libssl3t64 "
                             "from Debian 13 and Ubuntu 24.04 on; Fedora's openssl-libs)"};

[[noreturn]] void fail(const Library& library) {
  const char* const reason = ::dlerror();
  throw infeed::Error(
      infeed::ErrorCode::failed_precondition,
      fmt::format("reading a URL needs {}, which can't be loaded ({}); {}, then try again",
                  library.file, reason == nullptr ? "no reason given" : reason, library.advice));
}

/// Returns a function of a library, which stays loaded. A failure is found anew by the next caller,
/// so installing the library helps a running program.
void* find(const Library& library, const char* name) {
  void* const handle = ::dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(library);
  void* const function = ::dlsym(handle, name);
  if (function == nullptr) fail(library);
  return function;
}

template <class Function>
Function* loaded(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(find(library, name));
}

// Macros of curl.h have the names of these two.
using SetOption = CURLcode(CURL*, CURLoption, ...);
using GetInformation = CURLcode(CURL*, CURLINFO, ...);

/// Returns the type of the first argument, for declarations that differ by curl's version.
template <class Result, class First, class... Others>
First first_argument(Result (*)(First, Others...));

template <class Function>
Function* of_curl(const char* name) {
  return loaded<Function>(kCurl, name);
}

}  // namespace

extern "C" {

CURLcode curl_global_init(long flags) {
  static auto* const run = of_curl<decltype(curl_global_init)>("curl_global_init");
  return run(flags);
}
CURL* curl_easy_init() {
  static auto* const run = of_curl<decltype(curl_easy_init)>("curl_easy_init");
  return run();
}
void curl_easy_cleanup(CURL* easy) {
  static auto* const run = of_curl<decltype(curl_easy_cleanup)>("curl_easy_cleanup");
  run(easy);
}
// The argument of these two is a pointer, a long or a 64-bit number: a word in each ABI of 64 bits.
CURLcode(curl_easy_setopt)(CURL* easy, CURLoption option, ...) {
  static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));
  static auto* const run = of_curl<SetOption>("curl_easy_setopt");
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return run(easy, option, value);
}
CURLcode(curl_easy_getinfo)(CURL* easy, CURLINFO info, ...) {
  static auto* const run = of_curl<GetInformation>("curl_easy_getinfo");
  std::va_list arguments;
  va_start(arguments, info);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return run(easy, info, value);
}
CURLHcode curl_easy_header(CURL* easy, const char* name, size_t index, unsigned origin, int request,
                           curl_header** header) {
  static auto* const run = of_curl<decltype(curl_easy_header)>("curl_easy_header");
  return run(easy, name, index, origin, request, header);
}
CURLcode curl_easy_perform(CURL* easy) {
  static auto* const run = of_curl<decltype(curl_easy_perform)>("curl_easy_perform");
  return run(easy);
}
const char* curl_easy_strerror(CURLcode code) {
  static auto* const run = of_curl<decltype(curl_easy_strerror)>("curl_easy_strerror");
  return run(code);
}
void curl_free(void* memory) {
  static auto* const run = of_curl<decltype(curl_free)>("curl_free");
  run(memory);
}
curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  static auto* const run = of_curl<decltype(curl_slist_append)>("curl_slist_append");
  return run(list, text);
}
void curl_slist_free_all(curl_slist* list) {
  static auto* const run = of_curl<decltype(curl_slist_free_all)>("curl_slist_free_all");
  run(list);
}

CURLM* curl_multi_init() {
  static auto* const run = of_curl<decltype(curl_multi_init)>("curl_multi_init");
  return run();
}
CURLMcode curl_multi_cleanup(CURLM* multi) {
  static auto* const run = of_curl<decltype(curl_multi_cleanup)>("curl_multi_cleanup");
  return run(multi);
}
CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  static auto* const run = of_curl<decltype(curl_multi_add_handle)>("curl_multi_add_handle");
  return run(multi, easy);
}
CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  static auto* const run = of_curl<decltype(curl_multi_remove_handle)>("curl_multi_remove_handle");
  return run(multi, easy);
}
CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  static auto* const run = of_curl<decltype(curl_multi_perform)>("curl_multi_perform");
  return run(multi, running);
}
CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* extra, unsigned extra_count, int timeout_ms,
                          int* ready) {
  static auto* const run = of_curl<decltype(curl_multi_poll)>("curl_multi_poll");
  return run(multi, extra, extra_count, timeout_ms, ready);
}
CURLMcode curl_multi_wakeup(CURLM* multi) {
  static auto* const run = of_curl<decltype(curl_multi_wakeup)>("curl_multi_wakeup");
  return run(multi);
}
CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  static auto* const run = of_curl<decltype(curl_multi_info_read)>("curl_multi_info_read");
  return run(multi, left);
}

CURLU* curl_url() {
  static auto* const run = of_curl<decltype(curl_url)>("curl_url");
  return run();
}
void curl_url_cleanup(CURLU* url) {
  static auto* const run = of_curl<decltype(curl_url_cleanup)>("curl_url_cleanup");
  run(url);
}
CURLUcode curl_url_get(decltype(first_argument(&curl_url_get)) url, CURLUPart part, char** text,
                       unsigned flags) {
  static auto* const run = of_curl<decltype(curl_url_get)>("curl_url_get");
  return run(url, part, text, flags);
}
CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned flags) {
  static auto* const run = of_curl<decltype(curl_url_set)>("curl_url_set");
  return run(url, part, text, flags);
}

unsigned char* SHA256(const unsigned char* data, size_t size, unsigned char* digest) {
  static auto* const run = loaded<decltype(SHA256)>(kCrypto, "SHA256");
  return run(data, size, digest);
}
const EVP_MD* EVP_sha256() {
  static auto* const run = loaded<decltype(EVP_sha256)>(kCrypto, "EVP_sha256");
  return run();
}
unsigned char* HMAC(const EVP_MD* function, const void* key, int key_bytes,
                    const unsigned char* data, size_t size, unsigned char* digest,
                    unsigned* digest_bytes) {
  static auto* const run = loaded<decltype(HMAC)>(kCrypto, "HMAC");
  return run(function, key, key_bytes, data, size, digest, digest_bytes);
}

}  // extern "C"
