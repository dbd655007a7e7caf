#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>

#include "features/column_items.h"
#include "features/feature_functions.h"
#include "text/text_plan.h"

/// Operations on numbers: fill, clip, bucketise, normalise, cast.
namespace infeed::detail {
namespace {

/// The type that a number is compared and computed in: float for its short forms.
template <class T>
using Computed = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <class T>
bool is_nan(T value) {
  return value != value;  // whole numbers never are
}

/// Returns the lowest T that is at least `bound`; nothing if there is none.
template <class T>
std::optional<T> lowest_from(double bound) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    const double whole = std::ceil(bound);
    if (whole <= static_cast<double>(Limits::min())) return Limits::min();
    if (!holds<T>(whole)) return std::nullopt;
    return static_cast<T>(whole);
  } else {
    const auto near = static_cast<T>(bound);
    return static_cast<double>(near) < bound ? std::nextafter(near, Limits::infinity()) : near;
  }
}

/// Returns the highest T that is at most `bound`; nothing if there is none.
template <class T>
std::optional<T> highest_up_to(double bound) {
  using Limits = std::numeric_limits<T>;
  const double whole = std::floor(bound);
  if (whole >= static_cast<double>(Limits::max())) return Limits::max();
  if (!holds<T>(whole)) return std::nullopt;
  return static_cast<T>(whole);
}

template <class T>
Column clip(const Column& column, double min, double max) {
  using Number = Computed<T>;
  std::optional<Number> low;
  std::optional<Number> high;
  if constexpr (std::is_integral_v<T>) {
    low = lowest_from<T>(min);
    high = highest_up_to<T>(max);
  } else {
    low = static_cast<Number>(static_cast<Computed<T>>(converted<T>(min)));
    high = static_cast<Number>(static_cast<Computed<T>>(converted<T>(max)));
  }
  if (!low || !high || *low > *high) {
    refuse_option(fmt::format("no number of the column's type ({}) lies from {} to {}",
                              to_string(column.dtype()), shown_number(min), shown_number(max)));
  }
  return map_numbers<T, T>(column, [low = *low, high = *high](T value, unsigned&) {
    const auto number = static_cast<Number>(value);
    const Number raised = number < low ? low : number;  // NaN stays
    return static_cast<T>(raised > high ? high : raised);
  });
}

template <class T>
Column bucketise(const Column& column, const std::vector<double>& boundaries) {
  using Number = Computed<T>;
  std::vector<Number> lowest;  // the least number of each bucket but the first
  for (const double boundary : boundaries) {
    // A boundary beyond the type is never reached, nor are those behind it.
    const std::optional<Number> from = lowest_from<Number>(boundary);
    if (!from) break;
    lowest.push_back(*from);
  }
  return map_numbers<T, std::int64_t>(
      column,
      [&lowest](T value, unsigned& is_bad) {
        const auto number = static_cast<Number>(value);
        is_bad |= static_cast<unsigned>(is_nan(number));
        return static_cast<std::int64_t>(std::upper_bound(lowest.begin(), lowest.end(), number) -
                                         lowest.begin());
      },
      [](std::size_t) {
        return std::string("nan is in no bucket; a step 'fill' before puts a number there");
      });
}

/// Normalises with one mean and deviation, or with one for each number of an item.
template <class T, class Computing, class Out>
Column normalise(const Column& column, const feature::Normalise& step) {
  const std::vector<Computing> mean(step.mean.begin(), step.mean.end());
  const std::vector<Computing> deviation(step.deviation.begin(), step.deviation.end());
  const auto normalised = [](T value, Computing center, Computing scale) {
    const auto number = static_cast<Computing>(static_cast<Computed<T>>(value));
    return static_cast<Out>((number - center) / scale);
  };
  if (mean.size() == 1) {
    return map_numbers<T, Out>(column,
                               [&, center = mean[0], scale = deviation[0]](T value, unsigned&) {
                                 return normalised(value, center, scale);
                               });
  }
  if (numbers_per_item(column) != static_cast<std::int64_t>(mean.size())) {
    refuse_option(
        fmt::format("there are {} means, but an item of the column has the shape {}; "
                    "give one, or one for each of its numbers",
                    mean.size(), column.row_shape().to_string()));
  }
  // The stretches that are no padding begin and end with items.
  return map_numbers<T, Out>(column, [&, at = std::size_t{0}](T value, unsigned&) mutable {
    const std::size_t i = at;
    at = at + 1 == mean.size() ? 0 : at + 1;
    return normalised(value, mean[i], deviation[i]);
  });
}

/// Converts the numbers from `begin` to `end` of a tensor. Returns false if there is one that To
/// doesn't hold. There is one for each pair of types, so it is this loop and nothing else.
template <class From, class To>
bool cast_range(const std::byte* all_from, std::byte* all_to, std::size_t begin, std::size_t end) {
  const auto* const from = reinterpret_cast<const From*>(all_from);
  auto* const to = reinterpret_cast<To*>(all_to);
  unsigned is_bad = 0;
  for (std::size_t i = begin; i < end; ++i) {
    to[i] = converted<To>(from[i]);
    if constexpr (std::is_integral_v<To>) {
      is_bad |= static_cast<unsigned>(!holds<To>(from[i]));
    } else if constexpr (sizeof(To) < 8 && (sizeof(To) == 2 || std::is_same_v<From, double>)) {
      // Only a number that was finite has become infinite.
      is_bad |= static_cast<unsigned>(std::isinf(static_cast<Computed<To>>(to[i])) &&
                                      !std::isinf(converted<double>(from[i])));
    }
  }
  return is_bad == 0;
}

Column cast(const Column& column, DType dtype) {
  const auto range = with_dtype(column.dtype(), [dtype]<class From>(From) {
    return with_dtype(dtype, []<class To>(To) { return &cast_range<From, To>; });
  });
  Tensor values(dtype, column.values().shape());
  const MapRange map = [range, from = column.values().data(), to = values.writable_bytes().data()](
                           std::size_t begin, std::size_t end) {
    return range(from, to, begin, end);
  };
  map_ranges(column, map, map, [&column, dtype](std::size_t i) {
    return fmt::format("{} is found, but {} is expected", shown_item(column, i),
                       expected_value(dtype));
  });
  return with_values(column, std::move(values));
}

void check_finite(const std::vector<double>& numbers, std::string_view option) {
  for (const double number : numbers) {
    if (std::isfinite(number)) continue;
    refuse_option(
        fmt::format("{} holds {}; finite numbers are expected", option, shown_number(number)));
  }
}

}  // namespace

FeatureFunction feature_function(const feature::Fill& step) {
  return [value = step.value](const Column& column) {
    return visit_numbers(column, [&]<class T>(T) -> Column {
      if constexpr (std::is_integral_v<T>) {
        refuse_column_of(column, "floats, which may be NaN,");
      } else {
        return map_numbers<T, T>(column, [filling = converted<T>(value)](T number, unsigned&) {
          return is_nan(static_cast<Computed<T>>(number)) ? filling : number;
        });
      }
    });
  };
}

FeatureFunction feature_function(const feature::Clip& step) {
  if (!(step.min <= step.max)) {
    refuse_option(fmt::format("min is {} and max is {}; min must be at most max",
                              shown_number(step.min), shown_number(step.max)));
  }
  return [min = step.min, max = step.max](const Column& column) {
    return visit_numbers(column, [&]<class T>(T) -> Column {
      if constexpr (std::is_same_v<T, bool>) {
        refuse_column_of(column, "numbers other than bools");
      } else {
        return clip<T>(column, min, max);
      }
    });
  };
}

FeatureFunction feature_function(const feature::Bucketise& step) {
  check_finite(step.boundaries, "boundaries");
  const auto& all = step.boundaries;
  const bool ascend =
      std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end();
  if (all.empty() || !ascend) {
    refuse_option(
        fmt::format("boundaries are [{}]; numbers in ascending order are expected, at "
                    "least one",
                    fmt::join(all, ", ")));
  }
  return [all](const Column& column) {
    return visit_numbers(column, [&]<class T>(T) { return bucketise<T>(column, all); });
  };
}

FeatureFunction feature_function(const feature::Normalise& step) {
  check_finite(step.mean, "mean");
  check_finite(step.deviation, "deviation");
  const auto is_positive = [](double deviation) { return deviation > 0; };
  if (step.mean.empty() || step.mean.size() != step.deviation.size() ||
      !std::all_of(step.deviation.begin(), step.deviation.end(), is_positive)) {
    refuse_option(
        fmt::format("mean is [{}] and deviation [{}]; as many of each are expected, and deviations "
                    "above 0",
                    fmt::join(step.mean, ", "), fmt::join(step.deviation, ", ")));
  }
  return [step](const Column& column) {
    return visit_numbers(column, [&]<class T>(T) -> Column {
      if constexpr (std::is_same_v<T, double>) {
        return normalise<T, double, double>(column, step);
      } else if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
        return normalise<T, double, float>(column, step);  // a float may not hold the number
      } else {
        return normalise<T, float, float>(column, step);
      }
    });
  };
}

FeatureFunction feature_function(const feature::Cast& step) {
  if (step.dtype == DType::bytes) {
    refuse_option("dtype is bytes; a number's type is expected, as \"int64\"");
  }
  return [dtype = step.dtype, from_text = text_cast(step.dtype)](const Column& column) {
    if (column.dtype() == DType::bytes) return from_text(column);
    return cast(column, dtype);
  };
}

}  // namespace infeed::detail
