#include "infeed/records/tar.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "samples/tar_stream.h"

namespace infeed {
namespace {

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

namespace detail {

/// Remembers samples by hashes of their keys, some 56 bytes each. Names would take twice as much.
class TarKeysSeen {
 public:
  struct First {
    const std::string* extension;  ///< as the member's name has it
    std::uint64_t offset;          ///< place of the member's content
  };

  /// Adds a sample by its first member. Returns the first member of the one with the same key, if
  /// there is one already.
  const First* add(std::string_view key, const TarMember& member) {
    const std::string& extension = *extensions_.emplace(member.name.substr(key.size() + 1)).first;
    const auto [at, is_new] =
        first_.emplace(std::hash<std::string_view>()(key), First{&extension, member.offset});
    return is_new ? nullptr : &at->second;
  }
  void clear() { first_.clear(); }

 private:
  std::unordered_map<std::size_t, First> first_;
  std::unordered_set<std::string> extensions_;
};

/// Puts members that follow each other into samples, and says what is wrong with them.
class TarSamples {
 public:
  /// Opens `file`. Errors and records name it `shown`.
  TarSamples(const std::string& file, const std::string& shown, const TarOptions& options,
             std::uint64_t member_bytes_max, std::shared_ptr<SpareBlocks> spare_blocks = nullptr)
      : stream_(file, shown, options, std::move(spare_blocks)),
        member_bytes_max_(member_bytes_max) {}

  /// Calls `take(stream, member)` for each member of the next sample up to the first wrong one; it
  /// reads the content or passes over it. Returns false at the end.
  template <class Take>
  bool next(const Take& take) try {
    wrong_.reset();
    if (is_over_) return false;
    if (!find_sample()) {
      is_over_ = true;
      return false;
    }
    begin_sample();
    while (next_ && split_tar_name(next_->member.name).key == key_) {
      if (!wrong_) note_what_is_wrong();
      if (wrong_) {
        stream_.pass_over(next_->member);
      } else {
        take(stream_, next_->member);
      }
      next_ = stream_.next();
    }
    return true;
  } catch (...) {
    is_over_ = true;
    throw;
  }

  /// Key of the last sample.
  const std::string& key() const { return key_; }
  /// The error of the last sample, if anything is wrong with it.
  const std::optional<Error>& wrong() const { return wrong_; }
  const Omissions& left_out() const { return stream_.left_out(); }

 private:
  /// Goes to the first member of the next sample, in another archive if this one is over. The keys of
  /// each archive are its own.
  bool find_sample() {
    while (!next_) {
      if (is_begun_ && !stream_.begin_next_archive()) return false;
      is_begun_ = true;
      keys_.clear();
      next_ = stream_.next();
    }
    return true;
  }

  void begin_sample() {
    const TarMember& member = next_->member;
    key_ = split_tar_name(member.name).key;
    extensions_.clear();
    const TarKeysSeen::First* const first = keys_.add(key_, member);
    if (first == nullptr) return;
    note(ErrorCode::data_loss,
         fmt::format(
             "the member '{}' belongs to the sample '{}', whose member '{}.{}' stands apart at "
             "offset {}: each would be half a sample; pack the tar file anew in the order "
             "of names (GNU tar: --sort=name)",
             member.name, key_, key_, *first->extension, first->offset));
  }

  void note_what_is_wrong() {
    const TarMember& member = next_->member;
    if (!extensions_.emplace(split_tar_name(member.name).extension).second) {
      note(ErrorCode::data_loss,
           fmt::format("the member '{}' comes twice in one sample", member.name));
    } else if (next_->is_link) {
      note(ErrorCode::data_loss,
           fmt::format("the member '{}' is a link to '{}', without content of its own; pack the "
                       "tar file anew with the files that links lead to (GNU tar: --dereference "
                       "--hard-dereference)",
                       member.name, next_->link_target));
    } else if (member.bytes > member_bytes_max_) {
      note(ErrorCode::resource_exhausted,
           fmt::format("the member '{}' has {} bytes, more than {}; member_bytes_max is the limit",
                       member.name, member.bytes, member_bytes_max_));
    }
  }

  void note(ErrorCode code, std::string message) {
    wrong_ = stream_.error_at(code, std::move(message), next_->member.offset);
  }

  TarStream stream_;
  const std::uint64_t member_bytes_max_;
  std::optional<TarEntry> next_;  ///< its header was read already
  std::string key_;
  TarKeysSeen keys_;                            ///< keys of the archive
  std::unordered_set<std::string> extensions_;  ///< extensions of the sample
  std::optional<Error> wrong_;
  bool is_begun_ = false;
  bool is_over_ = false;
};

}  // namespace detail

class TarSampleReader::State {
 public:
  State(const std::string& file, const TarOptions& options,
        std::shared_ptr<SpareBlocks> spare_blocks)
      : samples_(file, redacted_url(file), options,
                 options.member_bytes_max.of("tar", "member_bytes_max"), std::move(spare_blocks)) {}

  bool read(TarSample& out) {
    out.fields.clear();
    const bool is_there = samples_.next([&](detail::TarStream& stream, const TarMember& member) {
      out.fields.push_back({split_tar_name(member.name).extension, stream.read(member, number_)});
    });
    if (!is_there) return false;
    ++number_;
    out.key = samples_.key();
    if (samples_.wrong()) throw Error(*samples_.wrong());
    return true;
  }

  bool skip() {
    ++number_;
    return samples_.next(
        [](detail::TarStream& stream, const TarMember& member) { stream.pass_over(member); });
  }

  const Omissions& left_out() const { return samples_.left_out(); }

 private:
  detail::TarSamples samples_;
  std::uint64_t number_ = 0;
};

TarSampleReader::TarSampleReader(const std::string& file, const TarOptions& options,
                                 std::shared_ptr<SpareBlocks> spare_blocks)
    : state_(std::make_unique<State>(file, options, std::move(spare_blocks))) {}
TarSampleReader::TarSampleReader(TarSampleReader&&) noexcept = default;
TarSampleReader::~TarSampleReader() = default;

bool TarSampleReader::read(TarSample& out) { return state_->read(out); }
bool TarSampleReader::skip() { return state_->skip(); }
const Omissions& TarSampleReader::left_out() const { return state_->left_out(); }

const Record* TarSample::find(std::string_view extension) const {
  const auto is_same = [](char a, char b) { return a == lower_case(b); };
  for (const TarField& field : fields) {
    if (std::equal(field.extension.begin(), field.extension.end(), extension.begin(),
                   extension.end(), is_same)) {
      return &field.content;
    }
  }
  return nullptr;
}

TarName split_tar_name(std::string_view name) {
  const std::size_t last_part = name.rfind('/') + 1;  // 0 when there is no slash
  const std::size_t dot = name.find('.', last_part);
  if (dot == std::string_view::npos) return {name, {}};
  TarName parts{name.substr(0, dot), std::string(name.substr(dot + 1))};
  std::transform(parts.extension.begin(), parts.extension.end(), parts.extension.begin(),
                 &lower_case);
  return parts;
}

TarList list_tar(const SeekableFile& file) {
  detail::TarSamples samples(file.path(), file.name(), {.compression = Compression::none},
                             INT64_MAX);
  TarList list;
  std::vector<TarMember> members;
  const auto take = [&](detail::TarStream& stream, const TarMember& member) {
    stream.pass_over(member);
    members.push_back(member);
  };
  while (samples.next(take)) {
    if (samples.wrong()) throw Error(*samples.wrong());
    list.samples.push_back({samples.key(), std::exchange(members, {})});
  }
  list.left_out = samples.left_out();
  return list;
}

}  // namespace infeed
