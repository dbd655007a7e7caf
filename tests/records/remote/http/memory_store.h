#pragma once

#include <fmt/format.h>
#include <map>
#include <string>

#include "records/remote/http/http_server.h"

namespace infeed::test {

/// The answers of an object store of the kind of S3: objects, uploads in parts, conditional writes and
/// lists. Any server of the tests may hand its requests to it (under the server's mutex).
///
///     MemoryStore store;
///     HttpServer server([&](const HttpRequestSeen& request) { return store.answer(request); });
class MemoryStore {
 public:
  HttpReply answer(const HttpRequestSeen& request) {
    const std::size_t mark = request.path.find('?');
    const std::string path = request.path.substr(0, mark);
    const std::string query = mark == std::string::npos ? "" : request.path.substr(mark + 1);
    if (request.method == "GET" && value(query, "list-type") == "2") return list(path, query);
    if (request.method == "GET") return get(request, path);
    if (request.method == "PUT" && !value(query, "uploadId").empty()) {
      const std::string id = value(query, "uploadId");
      if (!uploads.contains(id)) return no_upload();
      uploads[id][std::stoi(value(query, "partNumber"))] = request.body;
      return {.headers = {"ETag: \"part" + value(query, "partNumber") + "\""}};
    }
    if (request.method == "PUT") return put(request, path, request.body);
    if (request.method == "POST" && query == "uploads=") {
      const std::string id = fmt::format("upload {}&", ++begun);
      uploads[id];
      return {.body = "<R><UploadId>upload " + std::to_string(begun) + "&amp;</UploadId></R>"};
    }
    if (request.method == "POST") return complete(request, path, value(query, "uploadId"));
    if (request.method == "DELETE") {
      if (const std::string id = value(query, "uploadId"); !id.empty()) {
        return uploads.erase(id) > 0 ? HttpReply{.status = 204} : no_upload();
      }
      objects.erase(path);
      return {.status = 204};
    }
    return {.status = 501};
  }

  std::map<std::string, std::string> objects;  ///< by path: "/bucket/key"
  std::map<std::string, std::map<int, std::string>> uploads;
  int begun = 0;  ///< uploads in parts

 private:
  static std::string value(const std::string& query, const std::string& name) {
    const std::string all = "&" + query;
    const std::size_t at = all.find("&" + name + "=");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 2;
    std::string text = all.substr(begin, all.find('&', begin) - begin);
    for (std::size_t i = 0; (i = text.find('%', i)) != std::string::npos; ++i) {
      text.replace(i, 3, 1, static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
    }
    return text;
  }
  static HttpReply no_upload() {
    return {.status = 404, .body = "<Error><Code>NoSuchUpload</Code></Error>"};
  }
  HttpReply get(const HttpRequestSeen& request, const std::string& path) const {
    const auto found = objects.find(path);
    if (found == objects.end()) {
      return {.status = 404, .body = "<Error><Code>NoSuchKey</Code></Error>"};
    }
    return serve_bytes(request, found->second,
                       fmt::format("\"{}\"", std::hash<std::string>()(found->second)));
  }
  HttpReply put(const HttpRequestSeen& request, const std::string& path, const std::string& body) {
    if (request.header("if-none-match") == "*" && objects.contains(path)) {
      return {.status = 412, .body = "<Error><Code>PreconditionFailed</Code></Error>"};
    }
    objects[path] = body;
    return {.headers = {"ETag: \"whole\""}};
  }
  HttpReply complete(const HttpRequestSeen& request, const std::string& path,
                     const std::string& id) {
    if (!uploads.contains(id)) return no_upload();
    std::string body;
    int number = 0;
    for (const auto& [part, bytes] : uploads[id]) {
      if (request.body.find(fmt::format("<PartNumber>{}</PartNumber><ETag>\"part{}\"</ETag>",
                                        ++number, part)) == std::string::npos) {
        return {.status = 400, .body = "<Error><Code>InvalidPart</Code></Error>"};
      }
      body += bytes;
    }
    HttpReply reply = put(request, path, body);
    if (reply.status == 200) uploads.erase(id);
    return reply;
  }
  HttpReply list(const std::string& path, const std::string& query) const {
    const std::string bucket = path.ends_with('/') ? path : path + "/";
    const std::string begin = bucket + value(query, "prefix");
    std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
    for (const auto& [name, body] : objects) {
      if (!name.starts_with(begin)) continue;
      xml += "<Contents><Key>" + name.substr(bucket.size()) + "</Key></Contents>";
    }
    return {.body = xml + "</ListBucketResult>"};
  }
};

}  // namespace infeed::test
