#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "infeed/error.h"
#include "infeed/records/url_options.h"

/// Why: what a program made shall lie in an object store, where other machines read it by URL.
///
///     infeed::upload_file("train-00000-of-00016.tfrecord", "s3://bucket/train-00000-of-00016.tfrecord");
///     infeed::upload_text("{}", "s3://bucket/train.manifest.json", {.refuse_existing = true});
///
/// s3:// takes files of more than `part_bytes` in parts (multipart), so that a cut connection costs
/// one part; the object appears with the last of them, whole. Every part is checked by its SHA-256.
/// http:// and https:// get one PUT, as servers of WebDAV take it. Credentials, region, endpoint,
/// retries and time limits are those of reading (url_options.h).
///
/// Errors: those of reading; permission_denied where the credentials may not write; already_exists
/// with `refuse_existing`; data_loss if the file's size changed while it was sent. A failed upload
/// leaves no object, and its parts are given up.
/// Thread-safety: calls for different URLs may run at once.
namespace infeed {

struct UploadOptions {
  UrlOptions url = {};
  /// Also the memory that an upload takes; one by http:// or https:// takes the whole file's size.
  /// More where a file would have over 10,000 parts; a store refuses parts below 5 MiB, but for the
  /// last.
  std::size_t part_bytes = std::size_t{16} << 20;
  /// Writes only if there is no such object (If-None-Match: *), so that of two writers one fails. After
  /// a cut connection the object that is there may be one's own.
  bool refuse_existing = false;
};

/// Uploads a regular file.
void upload_file(const std::string& file, const std::string& url,
                 const UploadOptions& options = {});
/// Uploads a text in one request.
void upload_text(std::string_view text, const std::string& url, const UploadOptions& options = {});
/// Removes an object; does nothing if there is none.
void remove_object(const std::string& url, const UploadOptions& options = {});

}  // namespace infeed
