#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"
#include "infeed/records/files.h"
#include "infeed/records/limits.h"
#include "io/pattern/path_pattern.h"
#include "io/pattern/shard_fields.h"
#include "io/remote_files.h"
#include "io/url.h"
#include "remote/aws/bucket_list.h"
#include "remote/http/transfers.h"

namespace infeed::detail {
namespace {

/// Expands "-*-of-NNNNN" or "-?????-of-NNNNN" in a name to its shards, without asking a server. A
/// number has as many digits as question marks stand for it, else as many as the count has.
std::optional<std::vector<std::string>> expand_shards(const std::string& pattern) {
  const auto fields = ShardFields::of(pattern);
  if (!fields) return std::nullopt;
  const std::string_view number = fields->number;
  const bool is_marks = number.find_first_not_of('?') == number.npos;
  if (number != "*" && (!is_marks || number.size() < kShardDigitsMin)) return std::nullopt;
  std::uint32_t count = 0;
  if (!parse_whole(fields->count, count) || count == 0) return std::nullopt;
  if (count > limits::shard_names) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the pattern stands for {} shards, but {} are the limit; is the number "
                            "behind '-of-' right?",
                            count, limits::shard_names))
        .at_file(redacted_url(pattern));
  }
  const std::size_t digits = number == "*" ? fields->count.size() : number.size();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(fields->with_number(i, digits));
  return names;
}

std::vector<std::string> match_http(const std::string& pattern) {
  if (auto shards = expand_shards(pattern)) return std::move(*shards);
  // A question mark begins the query of a URL, so it is no wildcard.
  const std::string_view path = std::string_view(pattern).substr(0, pattern.find('?'));
  if (path.find('*') == path.npos) return {pattern};
  throw Error(ErrorCode::invalid_argument,
              "a web server can't be asked for a list of its files, so '*' can only stand for the "
              "number of a shard, as in train-*-of-00016.tfrecord; else name each file")
      .at_file(redacted_url(pattern));
}

BucketList parse_list(std::string_view xml, const UrlTarget& target) {
  if (auto list = parse_bucket_list(xml)) return std::move(*list);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("{} does not answer a request for a list as S3 does; check "
                          "AWS_ENDPOINT_URL",
                          target.host()))
      .at_file(target.name());
}

/// Throws if a list goes on but doesn't say where, or a server gives a token again, or a new one
/// without end: it would be asked for ever. (A page without names is fine: names in deeper folders
/// are left out.)
void require_progress(const BucketList& listing, std::set<std::string>& tokens,
                      const UrlTarget& target) {
  if (!listing.goes_on) return;
  if (!listing.next_token) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("{} gives only the beginning of its list, and no NextContinuationToken "
                    "to go on with: it lists as version 1 of S3's lists does, where version "
                    "2 was asked for; name each file, or check AWS_ENDPOINT_URL",
                    target.host()))
        .at_file(target.name());
  }
  const bool is_new = tokens.insert(*listing.next_token).second;
  if (is_new && tokens.size() < limits::listed_pages) return;
  const std::string why =
      is_new ? fmt::format("has more than {} pages, which is the limit; name a longer prefix",
                           limits::listed_pages)
             : std::string("says twice that it goes on at the same place");
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the list that {} gives doesn't end: it {}", target.host(), why))
      .at_file(target.name());
}

/// Returns all keys of the bucket that begin with `prefix`; with `is_flat` without those in deeper
/// folders.
std::vector<std::string> list_keys(Transfers& transfers, const std::string& prefix, bool is_flat) {
  std::vector<std::string> keys;
  std::optional<std::string> token;
  std::set<std::string> tokens;
  do {
    NamesAndValues query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}};
    if (is_flat) query.emplace_back("delimiter", "/");
    if (token) query.emplace_back("continuation-token", *token);
    const auto transfer = transfers.start(Transfer::Kind::whole, 0, 0, std::move(query));
    transfers.wait(*transfer, 0, 1);
    BucketList listing = parse_list(transfer->text, transfers.target());
    std::move(listing.keys.begin(), listing.keys.end(), std::back_inserter(keys));
    require_progress(listing, tokens, transfers.target());
    token = listing.goes_on ? std::move(listing.next_token) : std::nullopt;
  } while (token);
  return keys;
}

std::string describe_others(const std::vector<std::string>& keys, const S3Name& name,
                            const std::string& prefix) {
  const std::string place = fmt::format("s3://{}/{}", name.bucket, prefix);
  if (keys.empty()) return fmt::format("no name begins with '{}'", place);
  return fmt::format("{} other {} with '{}', such as 's3://{}/{}'", keys.size(),
                     keys.size() == 1 ? "name begins" : "names begin", place, name.bucket,
                     keys.front());
}

std::vector<std::string> match_s3(const std::string& pattern) {
  const S3Name name = S3Name::parse(pattern);
  const std::size_t wildcard = name.key.find_first_of("*?[\\");
  if (wildcard == name.key.npos) return {pattern};
  const std::string prefix = name.key.substr(0, wildcard);
  const bool is_flat = name.key.find('/', wildcard) == name.key.npos &&
                       name.key.find("**", wildcard) == name.key.npos;
  Transfers transfers(UrlTarget(fmt::format("s3://{}", name.bucket)), {});
  std::vector<std::string> keys = list_keys(transfers, prefix, is_flat);
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    if (key.ends_with('/')) continue;  // some tools mark a folder so
    if (!path_matches(name.key, key)) continue;
    found.push_back(fmt::format("s3://{}/{}", name.bucket, key));
  }
  if (found.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("no object matches '{}': {}", redacted_url(pattern),
                            describe_others(keys, name, prefix)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> match_urls(const std::string& pattern) {
  return url_scheme(pattern) == "s3" ? match_s3(pattern) : match_http(pattern);
}

}  // namespace infeed::detail
