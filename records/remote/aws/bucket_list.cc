#include "remote/aws/bucket_list.h"

#include <algorithm>
#include <utility>

#include "io/url.h"
#include "remote/aws/xml.h"

namespace infeed::detail {
namespace {

/// Decodes a key of encoding-type=url, where a space may be a plus.
std::string decoded_key(std::string key) {
  std::replace(key.begin(), key.end(), '+', ' ');
  return percent_decode(key);
}

}  // namespace

std::optional<BucketList> parse_bucket_list(std::string_view xml) {
  if (xml.find("<ListBucketResult") == xml.npos) return std::nullopt;
  BucketList list;
  list.next_token = xml_text(xml, "NextContinuationToken");
  if (list.next_token && list.next_token->empty()) list.next_token.reset();
  const auto truncated = xml_text(xml, "IsTruncated");
  list.goes_on = truncated ? *truncated == "true" : list.next_token.has_value();
  const bool is_encoded = xml_text(xml, "EncodingType") == "url";
  for (std::size_t at = xml.find("<Contents>"); at != xml.npos; at = xml.find("<Contents>")) {
    xml.remove_prefix(at);
    auto key = take_xml_text(xml, "Key");
    if (!key) break;
    list.keys.push_back(is_encoded ? decoded_key(std::move(*key)) : std::move(*key));
  }
  return list;
}

bool is_cut_list(std::string_view xml) {
  return xml.find("<ListBucketResult") != xml.npos && xml.find("</ListBucketResult>") == xml.npos;
}

}  // namespace infeed::detail
