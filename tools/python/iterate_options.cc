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

[[noreturn]] void refuse_name(const std::string& name, const std::vector<std::string>& names) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("iterate has no option '{}'{}; there are {}", name,
                          detail::did_you_mean(detail::names_by_distance(names, name), name),
                          fmt::join(names, ", ")));
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
    std::vector<std::string> names;  // the options that it isn't
    const auto is = [&](const char* option) {
      names.emplace_back(option);
      return name == option;
    };
    const auto read = [&, value = value](const auto& take) {
      if (!value.is_none()) take(value);
    };
    const auto set = [&](auto& option, std::string_view expected) {
      using Value = std::remove_reference_t<decltype(option)>;
      read([&](nb::handle it) { option = option_as<Value>(kFunction, name, it, expected); });
    };
    if (is("resume")) {
      read([&](nb::handle it) {
        options.resume = Checkpoint::from_text(option_as<std::string>(kFunction, name, it, kText));
      });
    } else if (is("memory_bytes_max")) {
      set(options.memory_bytes_max, kCount);
    } else if (is("threads_max")) {
      set(options.threads_max, kCount);
    } else if (is("epoch")) {
      set(options.epoch, kCount);
    } else if (is("watchdog")) {
      read([&](nb::handle it) { options.watchdog = watchdog_from(name, it); });
    } else if (is("recording")) {
      read([&](nb::handle it) { options.recording.file = file_name(it); });
    } else if (is("tune")) {
      read([&](nb::handle it) {
        const bool tunes = option_as<bool>(kFunction, name, it, kTrueOrFalse);
        options.tuner.mode = tunes ? TunerMode::on : TunerMode::off;
      });
    } else if (is("tuning_profile")) {
      set(options.tuner.profile, kText);
    } else if (is("order_hash")) {
      set(options.order_hash, kTrueOrFalse);
    } else {
      refuse_name(name, names);
    }
  }
  return options;
}

}  // namespace infeed::python
