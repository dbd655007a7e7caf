#include "infeed/protobuf/message_type.h"

#include <algorithm>
#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <limits>
#include <set>
#include <vector>

#include "infeed/records/detail/message_error.h"
#include "infeed/records/detail/nearest_names.h"
#include "infeed/records/file.h"
#include "protobuf/message_content.h"

namespace infeed {
namespace {

namespace pb = google::protobuf;

[[noreturn]] void fail_set(ErrorCode code, const std::string& file, std::string what) {
  throw Error(code, std::move(what)).at_file(file);
}

/// Keeps the first problem of a schema, instead of writing it to stderr.
class FirstProblem final : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const pb::Message*,
                ErrorLocation, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("{}: {}: {}", file, element, message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Adds the set's files to the pool. Protoc writes each behind those that it imports. Returns the
/// last one.
const pb::FileDescriptor* build_files(const std::string& file, pb::DescriptorPool& pool,
                                      const std::stop_token& stop) {
  pb::FileDescriptorSet set;
  if (!set.ParseFromString(read_stream(file, stop)) || set.file_size() == 0) {
    fail_set(ErrorCode::data_loss, file,
             "the file is no descriptor set; protoc --include_imports --descriptor_set_out=FILE "
             "writes one");
  }
  const pb::FileDescriptor* last = nullptr;
  for (const pb::FileDescriptorProto& described : set.file()) {
    for (const std::string& import : described.dependency()) {
      if (pool.FindFileByName(import) != nullptr) continue;
      fail_set(ErrorCode::data_loss, file,
               fmt::format("{} imports {}, which isn't in the descriptor set; protoc's option "
                           "--include_imports puts it there",
                           described.name(), import));
    }
    FirstProblem problem;
    last = pool.BuildFileCollectingErrors(described, &problem);
    if (last == nullptr) {
      fail_set(ErrorCode::data_loss, file,
               fmt::format("the file holds a schema that protobuf refuses: {}", problem.text()));
    }
  }
  return last;
}

void append_names(const pb::Descriptor& type, std::vector<std::string>& names) {
  if (type.options().map_entry()) return;
  names.push_back(type.full_name());
  for (int i = 0; i < type.nested_type_count(); ++i) append_names(*type.nested_type(i), names);
}

std::vector<std::string> names_in(const pb::FileDescriptor& file) {
  std::vector<std::string> names;
  for (int i = 0; i < file.message_type_count(); ++i) append_names(*file.message_type(i), names);
  return names;
}

const pb::Descriptor* find_type(const std::string& file, const std::string& name,
                                const pb::FileDescriptor& last, const pb::DescriptorPool& pool) {
  if (name.empty()) {
    if (last.message_type_count() == 1) return last.message_type(0);
    const std::vector<std::string> names = names_in(last);
    fail_set(ErrorCode::invalid_argument, file,
             names.empty() ? fmt::format("{} has no messages", last.name())
                           : fmt::format("{} has several messages, so a name must be given: {}",
                                         last.name(), detail::quoted_names(names)));
  }
  if (const pb::Descriptor* const found = pool.FindMessageTypeByName(name)) return found;
  const std::vector<std::string> names = detail::names_by_distance(names_in(last), name);
  fail_set(ErrorCode::not_found, file,
           fmt::format("the descriptor set has no message '{}'{}; {} has {}", name,
                       detail::did_you_mean(names, name), last.name(),
                       names.empty() ? "none" : detail::quoted_names(names)));
}

bool requires_fields(const pb::Descriptor& type) {
  std::set<const pb::Descriptor*> seen;
  std::vector<const pb::Descriptor*> left{&type};
  while (!left.empty()) {
    const pb::Descriptor& next = *left.back();
    left.pop_back();
    if (!seen.insert(&next).second) continue;
    if (next.extension_range_count() != 0) return true;  // an extension may require some
    for (int i = 0; i < next.field_count(); ++i) {
      if (next.field(i)->is_required()) return true;
      if (next.field(i)->message_type() != nullptr) left.push_back(next.field(i)->message_type());
    }
  }
  return false;
}

}  // namespace

namespace detail {

ParsedMessage::ParsedMessage(const MessageTypeContent& type, std::string_view bytes)
    : type_(type), is_small_(bytes.size() <= (std::size_t{1} << 20)), message_(type.spare->take()) {
  if (bytes.size() > kMessageBytesMax ||
      !message_->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail_message(type.type->full_name(), bytes);
  }
  if (type.has_required && !message_->IsInitialized()) {
    fail_required(type.type->full_name(), message_->InitializationErrorString());
  }
}

ParsedMessage::~ParsedMessage() {
  if (is_small_) type_.spare->give(std::move(message_));
}

}  // namespace detail

MessageType::MessageType(const std::string& file, const std::string& name,
                         const std::stop_token& stop) {
  const auto content = std::make_shared<detail::MessageTypeContent>();
  const pb::FileDescriptor& last = *build_files(file, content->pool, stop);
  content->type = find_type(file, name, last, content->pool);
  content->has_required = requires_fields(*content->type);
  content->spare =
      std::make_unique<detail::SpareMessages>(*content->factory.GetPrototype(content->type));
  content_ = content;
}

const std::string& MessageType::name() const { return content_->type->full_name(); }

void MessageType::check(std::string_view bytes) const {
  const detail::ParsedMessage message(*content_, bytes);
}

std::string MessageType::text(std::string_view bytes, std::size_t value_bytes_max) const {
  const detail::ParsedMessage message(*content_, bytes);
  pb::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetUseUtf8StringEscaping(true);
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  printer.SetTruncateStringFieldLongerThan(
      static_cast<std::int64_t>(std::min(value_bytes_max, kMost)));  // 0: never
  std::string text;
  printer.PrintToString(message.get(), &text);
  return text;
}

}  // namespace infeed
