#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace infeed::detail {

/// A page of what S3 answers to a request for a list of a bucket's keys.
struct BucketList {
  std::vector<std::string> keys;
  std::optional<std::string> next_token;  ///< where the next page begins; none: this is the last
};

/// Nothing for a text that is no such page.
std::optional<BucketList> parse_bucket_list(std::string_view xml);

}  // namespace infeed::detail
