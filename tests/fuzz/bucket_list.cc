#include "remote/aws/bucket_list.h"

#include <fmt/format.h>

#include "fuzz.h"

/// Lists of a bucket's keys in XML, of any text: no more keys than the text has room for, and any
/// key survives a round trip.
void infeed::fuzz::check(Input input) {
  const std::string text(input.rest());
  if (const auto list = detail::parse_bucket_list(text)) {
    std::size_t bytes = 0;
    for (const std::string& key : list->keys) bytes += key.size();
    require(bytes + list->keys.size() * std::string_view("<Key></Key>").size() <= text.size(),
            "each key takes its part of the text");
  }
  std::string encoded;
  for (const char c : text) {
    encoded += c == ' ' ? "+" : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  const auto one = detail::parse_bucket_list(
      fmt::format("<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>{}</Key>"
                  "</Contents><NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
                  encoded));
  require(one && one->keys.size() == 1 && one->keys[0] == text && one->next_token == "t",
          "a key comes back as it was");
}
