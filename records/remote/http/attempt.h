#pragma once

#include <memory>
#include <optional>
#include <string>

#include "infeed/records/url_options.h"
#include "remote/http/answer.h"
#include "remote/http/curl_request.h"
#include "remote/http/redirect.h"
#include "remote/http/transfer.h"

namespace infeed::detail {

/// One request for (the rest of) a transfer. Lives in the engine's thread.
class Attempt {
 public:
  /// Takes the bytes of an answer as they arrive. Returns false to end the request.
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

  CURL* easy() const { return request_.easy(); }
  Transfer& transfer() const { return *transfer_; }
  std::string detail() const { return request_.detail(); }

  /// Returns why the request is to be given up; an empty text while its bytes come quickly enough.
  std::string why_stalled(const UrlOptions& options, Transfer::Clock::time_point now);
  /// The next time at which why_stalled() may have something to say.
  Transfer::Clock::time_point next_look(const UrlOptions& options) const;

  ByteRange asked = {};
  /// Place of the next byte in the object.
  std::uint64_t position = 0;
  /// End of the range that the answer promises.
  std::uint64_t promised_end = 0;
  std::optional<AnswerHead> head = std::nullopt;
  std::optional<HttpFailure> failure = std::nullopt;
  std::string body_begin = {};  ///< for an answer with an unwanted status

 private:
  using Clock = Transfer::Clock;
  static std::size_t receive_header(char* bytes, std::size_t unit, std::size_t count,
                                    void* attempt);
  static std::size_t receive(char* bytes, std::size_t unit, std::size_t count, void* attempt);

  std::shared_ptr<Transfer> transfer_;
  Sink& sink_;
  Origin origin_;
  CurlRequest request_;
  Clock::time_point last_byte_ = Clock::now();
  Clock::time_point window_begin_ = last_byte_;
  std::size_t window_bytes_ = 0;  ///< that have come since window_begin_
};

}  // namespace infeed::detail
