#include "protobuf/message_fields.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>
#include <type_traits>

#include "columns/feature_reading.h"
#include "infeed/error.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::detail {
namespace {

namespace pb = google::protobuf;
using CppType = pb::FieldDescriptor::CppType;

template <class T>
T value_of(const pb::Reflection& reflection, const pb::Message& message,
           const pb::FieldDescriptor* field) {
  if constexpr (std::is_same_v<T, bool>) return reflection.GetBool(message, field);
  if constexpr (std::is_same_v<T, std::int32_t>) return reflection.GetInt32(message, field);
  if constexpr (std::is_same_v<T, std::uint32_t>) return reflection.GetUInt32(message, field);
  if constexpr (std::is_same_v<T, std::uint64_t>) return reflection.GetUInt64(message, field);
  if constexpr (std::is_same_v<T, float>) return reflection.GetFloat(message, field);
  if constexpr (std::is_same_v<T, double>) return reflection.GetDouble(message, field);
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const bool is_enum = field->cpp_type() == CppType::CPPTYPE_ENUM;
    return is_enum ? reflection.GetEnumValue(message, field) : reflection.GetInt64(message, field);
  }
}

template <class T>
T repeated_value_of(const pb::Reflection& reflection, const pb::Message& message,
                    const pb::FieldDescriptor* field, int i) {
  if constexpr (std::is_same_v<T, bool>) return reflection.GetRepeatedBool(message, field, i);
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return reflection.GetRepeatedInt32(message, field, i);
  }
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    return reflection.GetRepeatedUInt32(message, field, i);
  }
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return reflection.GetRepeatedUInt64(message, field, i);
  }
  if constexpr (std::is_same_v<T, float>) return reflection.GetRepeatedFloat(message, field, i);
  if constexpr (std::is_same_v<T, double>) return reflection.GetRepeatedDouble(message, field, i);
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const bool is_enum = field->cpp_type() == CppType::CPPTYPE_ENUM;
    return is_enum ? reflection.GetRepeatedEnumValue(message, field, i)
                   : reflection.GetRepeatedInt64(message, field, i);
  }
}

template <class T>
void append_numbers(const MessageField& column, const pb::Message& message, const MessageRow& to) {
  const pb::FieldDescriptor* const field = column.path.back();
  const pb::Reflection& reflection = *message.GetReflection();
  if (column.levels == 0) {
    reinterpret_cast<T*>(to.column.values.data())[to.row] = value_of<T>(reflection, message, field);
    return;
  }
  if (!field->is_repeated()) {
    to.column.values.extend_by<T>(1, to.pool)[0] = value_of<T>(reflection, message, field);
    return;
  }
  const int count = reflection.FieldSize(message, field);
  const std::span<T> values =
      to.column.values.extend_by<T>(static_cast<std::size_t>(count), to.pool);
  for (int i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = repeated_value_of<T>(reflection, message, field, i);
  }
}

void append_texts(const MessageField& column, const pb::Message& message, const MessageRow& to) {
  const pb::FieldDescriptor* const field = column.path.back();
  const pb::Reflection& reflection = *message.GetReflection();
  std::string spare;
  if (!field->is_repeated()) {
    append_text(reflection.GetStringReference(message, field, &spare), to.column, column.levels,
                to.pool);
    return;
  }
  const int count = reflection.FieldSize(message, field);
  for (int i = 0; i < count; ++i) {
    append_text(reflection.GetRepeatedStringReference(message, field, i, &spare), to.column,
                column.levels, to.pool);
  }
}

/// Calls visit(T{}) with the type of a field of numbers.
template <class Visitor>
decltype(auto) with_number(const pb::FieldDescriptor& field, Visitor&& visit) {
  switch (field.cpp_type()) {
    case CppType::CPPTYPE_BOOL:
      return visit(bool{});
    case CppType::CPPTYPE_INT32:
      return visit(std::int32_t{});
    case CppType::CPPTYPE_UINT32:
      return visit(std::uint32_t{});
    case CppType::CPPTYPE_UINT64:
      return visit(std::uint64_t{});
    case CppType::CPPTYPE_FLOAT:
      return visit(float{});
    case CppType::CPPTYPE_DOUBLE:
      return visit(double{});
    default:
      return visit(std::int64_t{});
  }
}

[[noreturn]] void refuse_field(const std::string& name, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("field '{}' {}", name, why));
}

std::vector<std::string> field_names(const pb::Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& name, const std::string& part,
                                 const pb::Descriptor& type) {
  const std::vector<std::string> names = names_by_distance(field_names(type), part);
  refuse_field(name, fmt::format("isn't there: {} has no '{}'{}; it has {}", type.full_name(), part,
                                 did_you_mean(names, part),
                                 names.empty() ? "no fields" : quoted_names(names)));
}

}  // namespace

void MessageField::append_from(const pb::Message& message, std::size_t step, std::size_t level,
                               const MessageRow& to) const {
  const pb::FieldDescriptor* const field = path[step];
  const pb::Reflection& reflection = *message.GetReflection();
  const bool is_last = step + 1 == path.size();
  if (is_last) append(*this, message, to);
  if (!field->is_repeated()) {
    if (!is_last) append_from(reflection.GetMessage(message, field), step + 1, level, to);
    return;
  }
  const int count = reflection.FieldSize(message, field);
  for (int i = 0; !is_last && i < count; ++i) {
    append_from(reflection.GetRepeatedMessage(message, field, i), step + 1, level + 1, to);
  }
  end_row(to.column.partitions[level], static_cast<std::size_t>(count), to.pool);
}

MessageField find_field(const pb::Descriptor& type, const std::string& name) {
  MessageField found;
  const pb::Descriptor* inside = &type;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (inside == nullptr) {
      refuse_field(name, fmt::format("isn't there: {} is no message, so it has no '{}'",
                                     found.path.back()->full_name(), part));
    }
    const pb::FieldDescriptor* const field = inside->FindFieldByName(part);
    if (field == nullptr) refuse_unknown(name, part, *inside);
    if (field->is_map())
      refuse_field(name, "is a map, which has no order: no column is made of it");
    found.path.push_back(field);
    found.levels += field->is_repeated() ? 1 : 0;
    inside = field->message_type();
    begin = end + 1;
  }
  if (inside != nullptr) {
    refuse_field(name, fmt::format("is a {}: name one of its fields, {}", inside->full_name(),
                                   quoted_names(field_names(*inside))));
  }
  if (found.levels > 2) {
    refuse_field(name, fmt::format("lies in {} repeated fields; a column has two levels at most",
                                   found.levels));
  }
  const pb::FieldDescriptor& last = *found.path.back();
  if (last.cpp_type() == CppType::CPPTYPE_STRING) {
    found.append = &append_texts;
  } else {
    with_number(last, [&found]<class T>(T) { found.append = &append_numbers<T>; });
  }
  return found;
}

ColumnType column_type(const MessageField& field, const std::string& name) {
  ColumnType type;
  type.name = name;
  const pb::FieldDescriptor& last = *field.path.back();
  const bool is_ragged = field.levels != 0;
  if (is_ragged) type.ragged_levels = static_cast<std::int64_t>(field.levels);
  if (last.cpp_type() == CppType::CPPTYPE_STRING) {
    type.dtype = DType::bytes;
    type.kind = is_ragged ? Column::Kind::ragged_bytes : Column::Kind::bytes;
  } else {
    type.dtype = with_number(last, []<class T>(T) { return dtype_of<T>(); });
    type.kind = is_ragged ? Column::Kind::ragged : Column::Kind::dense;
  }
  return type;
}

}  // namespace infeed::detail
