#include <chrono>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <typeinfo>

#include <infeed/error.h>

#include "python/dataset.h"
#include "python/named_values.h"

namespace infeed::python {
namespace {

[[noreturn]] void refuse(const std::string& name, nb::handle value, std::string_view expected) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("iterate: {} is {}; it must be {}", name,
                          nb::cast<std::string>(nb::repr(value)), expected));
}

/// Reads an option of iterate(); `expected` says what it may be: "a whole number".
template <class T>
T option_as(const std::string& name, nb::handle value, std::string_view expected) {
  try {
    return nb::cast<T>(value);
  } catch (const std::bad_cast&) {
    refuse(name, value, expected);
  }
}

std::chrono::milliseconds watchdog_from(const std::string& name, nb::handle value) {
  constexpr double kSecondsMax = 1e9;  // 30 years, which nanoseconds can count
  constexpr std::string_view kSeconds = "a number of seconds from 0.001 to 1e9, or 0 for no limit";
  const auto seconds = option_as<double>(name, value, kSeconds);
  if (seconds != 0 && !(seconds >= 0.001 && seconds <= kSecondsMax)) refuse(name, value, kSeconds);
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
    if (value.is_none()) continue;
    if (name == "resume") {
      options.resume = Checkpoint::from_text(option_as<std::string>(name, value, kText));
    } else if (name == "memory_bytes_max") {
      options.memory_bytes_max = option_as<std::uint64_t>(name, value, kCount);
    } else if (name == "threads_max") {
      options.threads_max = option_as<int>(name, value, kCount);
    } else if (name == "epoch") {
      options.epoch = option_as<std::uint64_t>(name, value, kCount);
    } else if (name == "watchdog") {
      options.watchdog = watchdog_from(name, value);
    } else if (name == "recording") {
      options.recording.file = file_name(value);
    } else if (name == "tune") {
      options.tuner.mode =
          option_as<bool>(name, value, kTrueOrFalse) ? TunerMode::on : TunerMode::off;
    } else if (name == "tuning_profile") {
      options.tuner.profile = option_as<std::string>(name, value, kText);
    } else if (name == "order_hash") {
      options.order_hash = option_as<bool>(name, value, kTrueOrFalse);
    } else {
      throw Error(ErrorCode::invalid_argument, "iterate has no option '" + name + "'");
    }
  }
  return options;
}

}  // namespace infeed::python
