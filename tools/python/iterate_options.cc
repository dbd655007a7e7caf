#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/detail/nearest_names.h>

#include "python/dataset.h"
#include "python/named_values.h"
#include "python/signals.h"

namespace infeed::python {
namespace {

constexpr std::string_view kFunction = "iterate";

void check_is_option(const std::string& name) {
  static const std::vector<std::string> kNames = {"resume", "memory_bytes_max", "threads_max",
                                                  "epoch",  "watchdog",         "recording",
                                                  "tune",   "tuning_profile",   "order_hash"};
  if (std::ranges::find(kNames, name) != kNames.end()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("iterate has no option '{}'{}; there are {}", name,
                          detail::did_you_mean(detail::names_by_distance(kNames, name), name),
                          fmt::join(kNames, ", ")));
}

std::chrono::milliseconds watchdog_from(const std::string& name, nb::handle value) {
  constexpr std::string_view kSeconds = "a number of seconds from 0.001 to 1e9, or 0 for no limit";
  const auto seconds = option_as<double>(kFunction, name, value, kSeconds);
  if (seconds != 0 && !(seconds >= 0.001 && seconds <= kSecondsMax))
    refuse_option(kFunction, name, value, kSeconds);
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

IterateOptions iterate_options(const nb::dict& given) {
  constexpr std::string_view kCount = "a whole number, 0 or more";
  constexpr std::string_view kTrueOrFalse = "True or False";
  constexpr std::string_view kText = "a text";
  IterateOptions options;
  for (const auto [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    check_is_option(name);
    if (value.is_none()) continue;
    if (name == "resume") {
      options.resume = Checkpoint::from_text(option_as<std::string>(kFunction, name, value, kText));
    } else if (name == "memory_bytes_max") {
      options.memory_bytes_max = option_as<std::uint64_t>(kFunction, name, value, kCount);
    } else if (name == "threads_max") {
      options.threads_max = option_as<int>(kFunction, name, value, kCount);
    } else if (name == "epoch") {
      options.epoch = option_as<std::uint64_t>(kFunction, name, value, kCount);
    } else if (name == "watchdog") {
      options.watchdog = watchdog_from(name, value);
    } else if (name == "recording") {
      options.recording.file = file_name(value);
    } else if (name == "tune") {
      options.tuner.mode =
          option_as<bool>(kFunction, name, value, kTrueOrFalse) ? TunerMode::on : TunerMode::off;
    } else if (name == "tuning_profile") {
      options.tuner.profile = option_as<std::string>(kFunction, name, value, kText);
    } else if (name == "order_hash") {
      options.order_hash = option_as<bool>(kFunction, name, value, kTrueOrFalse);
    }
  }
  return options;
}

}  // namespace infeed::python
