#include "remote/attempt.h"

#include <fmt/format.h>
#include <mutex>
#include <new>
#include <utility>

#include "remote/url.h"

namespace infeed::detail {
namespace {

std::string find_ca_file(const UrlOptions& options) {
  if (!options.ca_file.empty()) return options.ca_file;
  for (const char* const name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const auto file = environment_of_process(name)) return *file;
  }
  return {};
}

}  // namespace

void start_curl() {
  static std::once_flag started;
  std::call_once(started, [] {
    const CURLcode code = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OK) return;
    throw Error(ErrorCode::internal,
                fmt::format("libcurl can't be used: {}", ::curl_easy_strerror(code)));
  });
}

Attempt::Attempt(std::shared_ptr<Transfer> transfer, Sink& sink)
    : transfer_(std::move(transfer)), sink_(sink), easy_(::curl_easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
}

template <class T>
void Attempt::set(CURLoption option, T value) {
  const CURLcode code = ::curl_easy_setopt(easy(), option, value);
  if (code == CURLE_OK) return;
  throw Error(ErrorCode::internal,
              fmt::format("libcurl refuses option {}: {}", static_cast<int>(option),
                          ::curl_easy_strerror(code)));
}

void Attempt::add_header(const std::string& header) {
  if (header.empty()) return;
  curl_slist* const longer = ::curl_slist_append(headers_.get(), header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)headers_.release();
  headers_.reset(longer);
}

void Attempt::prepare(const UrlTarget& target, const UrlOptions& options,
                      const std::optional<ObjectIdentity>& known, Connection connection) {
  const HttpRequest request = target.get(transfer_->query);
  for (const std::string& header : request.headers) add_header(header);
  if (transfer_->kind != Transfer::Kind::whole) {
    const std::uint64_t begin = transfer_->offset_bytes;
    asked = {begin + transfer_->filled_bytes, begin + transfer_->size_bytes};
    position = asked.begin;
    add_header(fmt::format("Range: bytes={}-{}", asked.begin, asked.end - 1));
    if (known) add_header(known->condition());
  }
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, "infeed");
  set(CURLOPT_PATH_AS_IS, 1L);  // what is signed is what is sent
  set(CURLOPT_WRITEFUNCTION, &Attempt::receive);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_BUFFERSIZE, 512L << 10);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  // Ranges in flight are to have a connection each: streams inside one share its window.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  const bool is_secure = url_scheme(request.url) == "https";
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  if (!target.is_s3()) {  // a signature holds for one host
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 8L);
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  }
  if (connection == Connection::fresh) set(CURLOPT_FRESH_CONNECT, 1L);
  if (const std::string file = find_ca_file(options); !file.empty()) {
    set(CURLOPT_CAINFO, file.c_str());
  }
}

std::size_t Attempt::receive(char* bytes, std::size_t unit, std::size_t count, void* attempt) {
  auto& self = *static_cast<Attempt*>(attempt);
  const std::size_t size = unit * count;
  self.last_byte = Transfer::Clock::now();
  try {
    return self.sink_.take(self, {bytes, size}) ? size : 0;
  } catch (const std::exception& error) {  // must not pass through libcurl
    self.failure = HttpFailure{ErrorCode::resource_exhausted, error.what()};
    return 0;
  }
}

}  // namespace infeed::detail
