#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/element_codec.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/parse.h>
#include <infeed/pipeline/payload.h>
#include <infeed/records/detail/feature_codec.h>
#include <infeed/records/detail/message_error.h>

namespace infeed {

/// Why: records hold serialised protobuf messages. This makes objects of them, of any class that
/// protoc generated: of either syntax, for the full or the lite runtime.
///
///     infeed::records("clicks-*.tfrecord")
///         | infeed::parse_message<shop::Click>({.parallelism = infeed::autotune})
///         | infeed::map([](const shop::Click& click) { return click.user_id(); })
///
/// Your program links the protobuf that its classes need. infeed includes nothing of it here: M is
/// any class with protobuf's functions.
///
/// A record that is no M is an element's error, in its place, that names file, offset and record,
/// and the byte of the field that broke: data_loss, or invalid_argument where required fields are
/// missing (proto2). Protobuf itself can't tell most types apart: unknown fields are kept, and
/// missing ones have their defaults. For a string that isn't UTF-8 (proto3) it also writes a line
/// to stderr.
///
/// A message counts in the memory account by its objects' size, or in the lite runtime by its
/// serialised size. cache, shuffle and snapshot take it like any element. Where a message's class
/// isn't known when the program is compiled: infeed/protobuf/message_type.h.
template <class M>
auto parse_message(ParseOptions options = {});

// Only the library reads what follows.
namespace detail {

template <class M>
concept GeneratedMessage = requires(M& message, const M& same, std::string& out) {
  { message.ParsePartialFromArray(static_cast<const void*>(nullptr), 0) } -> std::same_as<bool>;
  { same.AppendPartialToString(&out) } -> std::same_as<bool>;
  { same.IsInitialized() } -> std::same_as<bool>;
  same.InitializationErrorString();
  same.GetTypeName();
  same.ByteSizeLong();
};

template <class M>
M parse_message_bytes(std::string_view bytes) {
  M message;
  if (bytes.size() > kMessageBytesMax ||
      !message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail_message(std::string(message.GetTypeName()), bytes);
  }
  if (!message.IsInitialized()) {
    fail_required(std::string(message.GetTypeName()), message.InitializationErrorString());
  }
  return message;
}

template <class M>
struct ParseMessageFunction {
  M operator()(const Record& record) const {
    try {
      return parse_message_bytes<M>(record.bytes());
    } catch (...) {
      rethrow_with_place(record);
    }
  }
  M operator()(const std::string& bytes) const { return parse_message_bytes<M>(bytes); }
};

template <class M>
struct ParseMessageFactory {
  using ComposesAsStage = void;
  ParseOptions options;

  template <class Element>
  Dataset<M> operator()(const Dataset<Element>& input) const {
    constexpr bool kIsSerialised =
        std::is_same_v<Element, Record> || std::is_same_v<Element, std::string>;
    static_assert(kIsSerialised,
                  "infeed::parse_message: the dataset's Element must be a serialised message, an "
                  "infeed::Record or a std::string");
    if constexpr (kIsSerialised && GeneratedMessage<M>) {
      ElementwiseSpec spec{.name = "parse_message",
                           .signature = "parse_message(" + std::string(M().GetTypeName()) + ")",
                           .out_type = &type_info<M>()};
      spec.kernel = &map_kernel<Element, ParseMessageFunction<M>>;
      spec.function = share_function(ParseMessageFunction<M>{});
      spec.has_parallelism = true;
      spec.parallelism = options.parallelism;
      spec.ordered = options.ordered;
      return Dataset<M>(make_elementwise(std::move(spec), input.node()));
    } else {
      return refused<M>();
    }
  }
};

}  // namespace detail

template <detail::GeneratedMessage M>
struct Payload<M> {
  static std::size_t bytes(const M& message) {
    if constexpr (requires { message.SpaceUsedLong(); }) {
      return message.SpaceUsedLong() - sizeof(M);
    } else {
      return message.ByteSizeLong();
    }
  }
};

/// Protobuf's own bytes, so that a field may be added to the message later.
template <detail::GeneratedMessage M>
struct ElementCodec<M> {
  static std::string layout() { return "message<" + std::string(M().GetTypeName()) + ">"; }
  static void encode(const M& message, std::string& out) {
    detail::append_count(out, message.ByteSizeLong());
    message.AppendPartialToString(&out);
  }
  static M decode(ElementReader& in) {
    try {
      return detail::parse_message_bytes<M>(in.bytes(in.count(1)));
    } catch (...) {
      detail::rethrow_with_place(in.record());
    }
  }
};

template <class M>
auto parse_message(ParseOptions options) {
  static_assert(
      detail::GeneratedMessage<M>,
      "infeed::parse_message: M must be a class that protoc generated: include its .pb.h");
  return named_stage(options.name, detail::ParseMessageFactory<M>{options});
}

}  // namespace infeed
