#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace infeed::detail {

/// Messages that were parsed into, kept with their memory for the next ones.
class SpareMessages {
 public:
  explicit SpareMessages(const google::protobuf::Message& prototype) : prototype_(prototype) {}

  std::unique_ptr<google::protobuf::Message> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        std::unique_ptr<google::protobuf::Message> message = std::move(spare_.back());
        spare_.pop_back();
        return message;
      }
    }
    return std::unique_ptr<google::protobuf::Message>(prototype_.New());
  }
  void give(std::unique_ptr<google::protobuf::Message> message) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(message));
  }

 private:
  const google::protobuf::Message& prototype_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<google::protobuf::Message>> spare_;
};

/// The content of a MessageType. The pool owns the descriptors, the factory the prototypes.
struct MessageTypeContent {
  google::protobuf::DescriptorPool pool;
  google::protobuf::DynamicMessageFactory factory{&pool};
  const google::protobuf::Descriptor* type = nullptr;
  bool has_required = false;  ///< a field of it, or of a message inside, is required
  std::unique_ptr<SpareMessages> spare;
};

/// A message of the type, parsed from bytes. Throws as MessageType::check() does.
class ParsedMessage {
 public:
  ParsedMessage(const MessageTypeContent& type, std::string_view bytes);
  ~ParsedMessage();
  ParsedMessage(const ParsedMessage&) = delete;
  ParsedMessage& operator=(const ParsedMessage&) = delete;

  const google::protobuf::Message& get() const { return *message_; }

 private:
  const MessageTypeContent& type_;
  const bool is_small_;  ///< its memory is worth keeping
  std::unique_ptr<google::protobuf::Message> message_;
};

}  // namespace infeed::detail
