#pragma once

#include <infeed/describe/option_value.h>
#include <infeed/records/url_options.h>

/// How sources that read by URL are told their UrlOptions: an object of those that differ from the
/// defaults, durations in milliseconds.
namespace infeed::describe {

inline constexpr const char* kUrlText =
    "How files named by URLs are read, as {'retries': 9}: range_bytes, ranges_in_flight, "
    "bytes_in_flight_max, retries, retry_delay_ms, retry_delay_max_ms, connect_timeout_ms, "
    "stall_timeout_ms, bytes_per_second_min, rate_window_ms, hedge_percentile, "
    "hedge_delay_min_ms, ca_file.";

template <>
struct OptionValue<UrlOptions> {
  static std::string type() { return "Mapping[str, Any]"; }
  static JsonText write(const UrlOptions& options);
  static UrlOptions read(const JsonText& value, const std::string& place);
};

}  // namespace infeed::describe
