#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace infeed::detail {

/// A page of S3's answer to a request for a list of a bucket's keys.
struct BucketList {
  std::vector<std::string> keys;
  bool goes_on = false;                   ///< there is another page
  std::optional<std::string> next_token;  ///< begin of the next page
};

/// Parses such a page. Empty for any other text.
std::optional<BucketList> parse_bucket_list(std::string_view xml);
/// True if such a page ends too early: an answer of unknown length may be cut without an error.
bool is_cut_list(std::string_view xml);

}  // namespace infeed::detail
