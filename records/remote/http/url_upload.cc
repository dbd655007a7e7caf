#include "infeed/records/url_upload.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "infeed/detail/wait_unless_stopped.h"
#include "infeed/records/file.h"
#include "infeed/records/files.h"
#include "infeed/records/url_object.h"
#include "remote/aws/xml.h"
#include "remote/http/answer.h"
#include "remote/http/curl_request.h"
#include "remote/http/http_failure.h"
#include "remote/http/retries.h"
#include "remote/http/url_target.h"

namespace infeed {
namespace {

using detail::HttpAsk;
using detail::HttpFailure;

constexpr std::uint64_t kPartsMax = 10'000;
constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;
constexpr long kNotFound = 404;
constexpr long kPreconditionFailed = 412;
constexpr long kConflict = 409;

struct Answer {
  long status = 0;
  std::string text = {};
  std::string etag = {};
  unsigned lost_before = 0;  ///< tries before it to which no answer came
};

int has_to_stop(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

/// One object and the requests that change it.
class Object {
 public:
  Object(const std::string& url, const UploadOptions& options)
      : options_{.url = detail::with_bounded_times(options.url),
                 .part_bytes = options.part_bytes,
                 .refuse_existing = options.refuse_existing},
        target_(url, &detail::environment_of_process, options.url.credentials.get()) {
    detail::start_curl();
  }

  bool has_parts() const { return target_.is_s3(); }

  /// Returns the answer with one of the wanted statuses, after as many tries as the options allow.
  Answer ask(const HttpAsk& wanted, std::string_view body, long also_wanted = 0) const {
    std::mt19937_64 random{std::random_device{}()};
    unsigned lost_answers = 0;
    for (unsigned tries = 0;; ++tries) {
      Answer answer;
      const std::optional<HttpFailure> failure = try_once(wanted, body, also_wanted, answer);
      answer.lost_before = lost_answers;
      if (!failure) return answer;
      if (answer.status == 0) ++lost_answers;
      if (options_.url.stop.stop_requested()) {
        throw Error(ErrorCode::cancelled, "stopped while it was uploaded").at_file(target_.name());
      }
      if (!failure->may_pass || tries >= options_.url.retries) {
        throw Error(failure->code, failure->message).at_file(target_.name());
      }
      detail::wait_unless_stopped(detail::pause_before_retry(*failure, tries, options_.url, random),
                                  options_.url.stop);
    }
  }

  void put(std::string_view bytes) const {
    ask({.method = "PUT", .headers = condition(), .body_sha256 = sum_of(bytes)}, bytes);
  }
  /// Only if there is no such object, where that was asked for.
  detail::NamesAndValues condition() const {
    if (!options_.refuse_existing) return {};
    return {{"if-none-match", "*"}};
  }
  std::string sum_of(std::string_view bytes) const {
    return target_.is_s3() ? detail::sha256_text(bytes) : std::string();
  }
  const std::string& name() const { return target_.name(); }

 private:
  void prepare(detail::CurlRequest& curl, const HttpAsk& wanted, std::string_view body,
               std::string& text) const {
    HttpAsk ask = wanted;
    // It must be signed where it is sent.
    if (ask.method != "DELETE")
      ask.headers.emplace_back("content-type", "application/octet-stream");
    const detail::HttpRequest request = target_.request(ask);
    for (const std::string& header : request.headers) curl.add_header(header);
    curl.set(CURLOPT_URL, request.url.c_str());
    curl.set(CURLOPT_PATH_AS_IS, 1L);
    curl.set(CURLOPT_CUSTOMREQUEST, std::string(wanted.method).c_str());
    if (wanted.method != "DELETE") {
      curl.add_header("Expect:");  // the body follows at once
      curl.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      curl.set(CURLOPT_POSTFIELDS, body.data() == nullptr ? "" : body.data());
    }
    curl.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    if (!target_.is_s3()) curl.set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    curl.collect_answer(text, kAnswerBytesMax);
    curl.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.url.connect_timeout.count()));
    const auto stall = std::chrono::ceil<std::chrono::seconds>(options_.url.stall_timeout);
    curl.set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.set(CURLOPT_LOW_SPEED_TIME, std::max(static_cast<long>(stall.count()), 1L));
    curl.set(CURLOPT_NOPROGRESS, 0L);
    curl.set(CURLOPT_XFERINFOFUNCTION, &has_to_stop);
    curl.set(CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&options_.url.stop)));
    curl.set_ca_file(options_.url.ca_file);
  }

  /// Returns the reason if the answer is no wanted one.
  std::optional<HttpFailure> try_once(const HttpAsk& wanted, std::string_view body,
                                      long also_wanted, Answer& answer) const {
    detail::CurlRequest curl;
    prepare(curl, wanted, body, answer.text);
    const CURLcode code = ::curl_easy_perform(curl.easy());
    if (code != CURLE_OK) {
      return detail::failure_of_transport(target_, code, curl.detail(), has_answered_);
    }
    has_answered_ = true;
    const detail::AnswerHead head = detail::AnswerHead::of(curl.easy());
    answer.status = head.status;
    answer.etag = head.etag;
    if (answer.status == also_wanted) return std::nullopt;
    if (answer.status >= 200 && answer.status < 300) {
      // The end of an upload in parts may fail after its status was sent.
      if (answer.text.find("<Error>") == std::string::npos) return std::nullopt;
      return HttpFailure{ErrorCode::unavailable,
                         fmt::format("the store could not put the parts together ({})",
                                     detail::xml_text(answer.text, "Code").value_or("no reason")),
                         true};
    }
    if (answer.status == kPreconditionFailed) {
      return HttpFailure{ErrorCode::already_exists, "the object is there already (412)"};
    }
    HttpFailure failure = detail::failure_of_answer(target_, {.status = head.status,
                                                              .body = answer.text,
                                                              .bucket_region = head.bucket_region,
                                                              .retry_after = head.retry_after});
    if (answer.status == kConflict) failure.may_pass = true;  // another writer at this moment
    if (failure.code == ErrorCode::permission_denied) {
      failure.message += "; to write it needs s3:PutObject and s3:AbortMultipartUpload";
    }
    return failure;
  }

  const UploadOptions options_;
  const detail::UrlTarget target_;
  mutable bool has_answered_ = false;  // so its host can be found
};

/// An upload in parts, given up unless it is completed.
class PartsUpload {
 public:
  PartsUpload(const Object& object, std::string url, UploadOptions options)
      : object_(object), url_(std::move(url)), options_(std::move(options)) {
    const Answer begun = object_.ask({.method = "POST", .query = {{"uploads", ""}}}, {});
    id_ = detail::xml_text(begun.text, "UploadId").value_or("");
    if (!id_.empty()) return;
    throw Error(ErrorCode::failed_precondition,
                "the store begins no upload in parts as S3 does; check AWS_ENDPOINT_URL")
        .at_file(object_.name());
  }
  PartsUpload(const PartsUpload&) = delete;
  PartsUpload& operator=(const PartsUpload&) = delete;
  ~PartsUpload() {
    if (id_.empty()) return;
    options_.url.stop = {};  // parts cost money until they are given up
    options_.url.retries = std::min(options_.url.retries, 2U);
    try {
      Object(url_, options_).ask({.method = "DELETE", .query = {{"uploadId", id_}}}, {}, kNotFound);
    } catch (const std::exception&) {  // the store gives them up by its own rules
    }
  }

  void add(std::string_view bytes) {
    const Answer answer = object_.ask(
        {.method = "PUT",
         .query = {{"partNumber", std::to_string(etags_.size() + 1)}, {"uploadId", id_}},
         .body_sha256 = object_.sum_of(bytes)},
        bytes);
    etags_.push_back(answer.etag);
    bytes_ += bytes.size();
  }
  void complete() {
    std::string list = "<CompleteMultipartUpload>";
    for (std::size_t i = 0; i < etags_.size(); ++i) {
      list +=
          fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, etags_[i]);
    }
    list += "</CompleteMultipartUpload>";
    const Answer answer = object_.ask({.method = "POST",
                                       .query = {{"uploadId", id_}},
                                       .headers = object_.condition(),
                                       .body_sha256 = object_.sum_of(list)},
                                      list, kNotFound);
    // After a try whose answer was lost the store may have ended the upload already.
    const bool is_lost =
        answer.status == kNotFound && (answer.lost_before == 0 || !is_object_there());
    if (is_lost) {
      throw Error(
          ErrorCode::not_found,
          fmt::format("the store does not know the upload in parts any more ({} {}); upload "
                      "the file again",
                      kNotFound, detail::xml_text(answer.text, "Code").value_or("no reason given")))
          .at_file(object_.name());
    }
    id_.clear();
  }

 private:
  bool is_object_there() const {
    try {
      return examine_url(url_, options_.url).size_bytes == bytes_;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_found) throw;
      return false;
    }
  }

  const Object& object_;
  const std::string url_;
  UploadOptions options_;
  std::string id_;
  std::vector<std::string> etags_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void upload_file(const std::string& file, const std::string& url, const UploadOptions& options) {
  const Object object(url, options);
  const File in = File::open_to_read(file);
  const std::uint64_t size = in.size_bytes().value_or(0);
  const std::uint64_t part = std::max<std::uint64_t>(
      {options.part_bytes, (size + kPartsMax - 1) / kPartsMax, std::uint64_t{1}});
  const bool is_whole = size <= part || !object.has_parts();
  std::vector<char> bytes(static_cast<std::size_t>(is_whole ? size : part));
  const auto read = [&](std::uint64_t offset) {
    const std::size_t wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes.size(), size - std::min(size, offset)));
    if (in.read_at(offset, std::span(bytes).first(wanted)) == wanted && in.size_bytes() == size) {
      return std::string_view(bytes.data(), wanted);
    }
    throw Error(ErrorCode::data_loss, "the file changed while it was uploaded").at_file(file);
  };
  if (is_whole) return object.put(read(0));
  PartsUpload upload(object, url, options);
  for (std::uint64_t offset = 0; offset < size; offset += part) upload.add(read(offset));
  upload.complete();
}

void upload_text(std::string_view text, const std::string& url, const UploadOptions& options) {
  Object(url, options).put(text);
}

void remove_object(const std::string& url, const UploadOptions& options) {
  Object(url, options).ask({.method = "DELETE"}, {}, kNotFound);
}

}  // namespace infeed
