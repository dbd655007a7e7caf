#include "describe/stages/url_option.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

#include "describe/json.h"
#include "infeed/error.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::describe {
namespace {

/// One member of UrlOptions under its name in JSON.
struct Member {
  std::string name;
  std::function<Json(const UrlOptions&)> write;
  std::function<void(UrlOptions&, const JsonText&, const std::string&)> read;
};

template <class T>
Member member_of(std::string name, T UrlOptions::*member) {
  return {std::move(name), [member](const UrlOptions& options) { return Json(options.*member); },
          [member](UrlOptions& options, const JsonText& value, const std::string& place) {
            if constexpr (std::is_unsigned_v<T>) {
              const Count count = OptionValue<Count>::read(value, place);
              if (!std::in_range<T>(count.value())) refuse_value(place, value, "a smaller number");
              options.*member = static_cast<T>(count.value());
            } else {
              options.*member = OptionValue<T>::read(value, place);
            }
          }};
}

Member member_of(std::string name, std::chrono::milliseconds UrlOptions::*member) {
  return {std::move(name),
          [member](const UrlOptions& options) { return Json((options.*member).count()); },
          [member](UrlOptions& options, const JsonText& value, const std::string& place) {
            options.*member =
                std::chrono::milliseconds(OptionValue<Count>::read(value, place).value());
          }};
}

std::vector<Member> members() {
  return {member_of("range_bytes", &UrlOptions::range_bytes),
          member_of("ranges_in_flight", &UrlOptions::ranges_in_flight),
          member_of("bytes_in_flight_max", &UrlOptions::bytes_in_flight_max),
          member_of("retries", &UrlOptions::retries),
          member_of("retry_delay_ms", &UrlOptions::retry_delay),
          member_of("retry_delay_max_ms", &UrlOptions::retry_delay_max),
          member_of("connect_timeout_ms", &UrlOptions::connect_timeout),
          member_of("stall_timeout_ms", &UrlOptions::stall_timeout),
          member_of("bytes_per_second_min", &UrlOptions::bytes_per_second_min),
          member_of("rate_window_ms", &UrlOptions::rate_window),
          member_of("hedge_percentile", &UrlOptions::hedge_percentile),
          member_of("hedge_delay_min_ms", &UrlOptions::hedge_delay_min),
          member_of("ca_file", &UrlOptions::ca_file)};
}

}  // namespace

JsonText OptionValue<UrlOptions>::write(const UrlOptions& options) {
  Json json = Json::object();
  for (const Member& member : members()) {
    Json value = member.write(options);
    if (value != member.write(UrlOptions())) json[member.name] = std::move(value);
  }
  return text_of(json);
}

UrlOptions OptionValue<UrlOptions>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_object()) refuse_value(place, value, "an object, as {\"retries\": 9}");
  UrlOptions options;
  std::vector<std::string> known;
  for (const Member& member : members()) {
    known.push_back(member.name);
    if (!json.contains(member.name)) continue;
    member.read(options, text_of(json[member.name]), place + "." + member.name);
  }
  for (const auto& [key, ignored] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest = detail::names_by_distance(known, key);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}.{} is no option of reading by URL{}; there are {}", place, key,
                            detail::did_you_mean(nearest, key), fmt::join(known, ", ")));
  }
  return options;
}

}  // namespace infeed::describe
