#pragma once

#include <array>
#include <curl/curl.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "infeed/records/url_options.h"
#include "remote/answer.h"
#include "remote/transfer.h"

namespace infeed::detail {

/// One request for (the rest of) a transfer. Lives in the engine's thread.
class Attempt {
 public:
  /// Takes what has arrived of an answer; false ends the request.
  struct Sink {
    virtual ~Sink() = default;
    virtual bool take(Attempt& attempt, std::string_view bytes) = 0;
  };
  enum class Connection { any, fresh };

  Attempt(std::shared_ptr<Transfer> transfer, Sink& sink);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void prepare(const UrlTarget& target, const UrlOptions& options,
               const std::optional<ObjectIdentity>& known, Connection connection);

  CURL* easy() const { return easy_.get(); }
  Transfer& transfer() const { return *transfer_; }
  std::string_view detail() const { return error_text_.data(); }

  ByteRange asked = {};
  /// Of the next byte, in the object.
  std::uint64_t position = 0;
  /// Of what the answer promises.
  std::uint64_t promised_end = 0;
  std::optional<AnswerHead> head = std::nullopt;
  std::optional<HttpFailure> failure = std::nullopt;
  std::string body_begin = {};  ///< of an answer that isn't what was wanted
  Transfer::Clock::time_point last_byte = Transfer::Clock::now();

 private:
  struct Cleanup {
    void operator()(CURL* easy) const { ::curl_easy_cleanup(easy); }
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
  };
  static std::size_t receive(char* bytes, std::size_t unit, std::size_t count, void* attempt);
  template <class T>
  void set(CURLoption option, T value);
  void add_header(const std::string& header);

  std::shared_ptr<Transfer> transfer_;
  Sink& sink_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::unique_ptr<curl_slist, Cleanup> headers_;
  std::unique_ptr<CURL, Cleanup> easy_;
};

/// Once a process, before anything else of libcurl.
void start_curl();

}  // namespace infeed::detail
