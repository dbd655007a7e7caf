#pragma once

#include <string_view>
#include <utility>

#include <infeed/describe/option_value.h>
#include <infeed/pipeline/pack.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/npy.h>
#include <infeed/records/record_set.h>
#include <infeed/records/text_options.h>

/// The names of the values of the stages' options.
namespace infeed::describe {

template <>
struct EnumNames<Compression> {
  static constexpr std::pair<Compression, std::string_view> kNames[] = {
      {Compression::automatic, "automatic"},
      {Compression::none, "none"},
      {Compression::gzip, "gzip"},
      {Compression::zlib, "zlib"},
      {Compression::lz4, "lz4"},
      {Compression::zstd, "zstd"}};
};
template <>
struct EnumNames<Verify> {
  static constexpr std::pair<Verify, std::string_view> kNames[] = {
      {Verify::everything, "everything"}, {Verify::lengths, "lengths"}};
};
template <>
struct EnumNames<DamagePolicy> {
  static constexpr std::pair<DamagePolicy, std::string_view> kNames[] = {
      {DamagePolicy::fail, "fail"},
      {DamagePolicy::skip_and_resynchronise, "skip_and_resynchronise"},
      {DamagePolicy::stop_like_tensorflow, "stop_like_tensorflow"}};
};
template <>
struct EnumNames<ManifestUse> {
  static constexpr std::pair<ManifestUse, std::string_view> kNames[] = {
      {ManifestUse::check, "check"}, {ManifestUse::ignore, "ignore"}};
};
template <>
struct EnumNames<WithoutIndex> {
  static constexpr std::pair<WithoutIndex, std::string_view> kNames[] = {
      {WithoutIndex::refuse, "refuse"}, {WithoutIndex::scan, "scan"}};
};
template <>
struct EnumNames<Quotes> {
  static constexpr std::pair<Quotes, std::string_view> kNames[] = {{Quotes::rfc4180, "rfc4180"},
                                                                   {Quotes::none, "none"}};
};
template <>
struct EnumNames<BadRows> {
  static constexpr std::pair<BadRows, std::string_view> kNames[] = {
      {BadRows::fail, "fail"}, {BadRows::leave_out, "leave_out"}};
};
template <>
struct EnumNames<ArrayMemory> {
  static constexpr std::pair<ArrayMemory, std::string_view> kNames[] = {
      {ArrayMemory::mapped, "mapped"}, {ArrayMemory::copied, "copied"}};
};
template <>
struct EnumNames<PackOptions::TooLong> {
  using TooLong = PackOptions::TooLong;
  static constexpr std::pair<TooLong, std::string_view> kNames[] = {
      {TooLong::split, "split"}, {TooLong::truncate, "truncate"}, {TooLong::fail, "fail"}};
};

}  // namespace infeed::describe
