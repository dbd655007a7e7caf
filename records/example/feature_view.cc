#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "example/example_lists.h"
#include "infeed/error.h"
#include "infeed/records/bfloat16.h"
#include "infeed/records/detail/encoded_number.h"
#include "infeed/records/example.h"
#include "infeed/records/float16.h"
#include "io/little_endian.h"

namespace infeed {
namespace {

template <class I>
I narrow(std::uint64_t bits, const FeatureView& view) {
  const auto value = static_cast<std::int64_t>(bits);
  if constexpr (std::is_same_v<I, bool>) {
    if (value == 0 || value == 1) return value == 1;
  } else {
    if (std::in_range<I>(value)) return static_cast<I>(value);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} holds {}, which is not in the wanted range {} to {}", view.subject(),
                          value, +std::numeric_limits<I>::min(), +std::numeric_limits<I>::max()));
}

template <class I>
void narrow_all(std::span<const std::uint64_t> values, I* out, const FeatureView& view) {
  for (const std::uint64_t value : values) *out++ = narrow<I>(value, view);
}

/// Converts `run` to numbers of type F.
template <class F>
void convert_floats(std::string_view run, F* out) {
  if constexpr (std::is_same_v<F, float>) {
    if (!run.empty()) std::memcpy(out, run.data(), run.size());
  } else {
    for (std::size_t at = 0; at < run.size(); at += sizeof(float)) {
      *out++ = static_cast<F>(detail::load_little<float>(run.data() + at));
    }
  }
}

}  // namespace

void detail::refuse_integer(const std::string& name, std::uint64_t value) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("feature '{}' can't hold {}: its integers end at 2^63 - 1; store it as a "
                          "text",
                          name, value));
}

void detail::refuse_float(const std::string& name, double value) {
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("feature '{}' can't hold {}: its numbers are floats of 32 bits", name, value));
}

std::string FeatureView::subject() const {
  return step_ == kNoStep ? fmt::format("feature '{}'", name_)
                          : fmt::format("step {} of feature list '{}'", step_, name_);
}

/// Describes the content of a Feature. The usual form is one list and nothing else.
void FeatureView::describe_feature(std::string_view feature) {
  if (feature.empty()) {
    present_ = false;
    return;
  }
  if (const auto kind = detail::kind_of_tag(static_cast<std::uint8_t>(feature[0]))) {
    detail::WireReader rest(feature.substr(1));
    const std::string_view list = rest.bytes();
    if (rest.is_at_end()) {
      data_ = list.data();
      size_ = list.size();
      kind_ = *kind;
      present_ = true;
      holds_ = Holds::list;
      return;
    }
  }
  detail::WalkedLists walked;
  detail::walk_feature(feature, walked, [](std::size_t, std::string_view) {});
  present_ = walked.kind.has_value();
  kind_ = walked.kind.value_or(FeatureKind::bytes);
  data_ = feature.data();
  size_ = feature.size();
  holds_ = Holds::feature;
}

template <class Visitor>
void FeatureView::visit_lists(Visitor&& visitor) const {
  if (!present_) return;
  const std::string_view bytes(data_, size_);
  const auto walk = [&](auto&& visit) {
    detail::WalkedLists walked;
    if (holds_ == Holds::feature) {
      detail::walk_feature(bytes, walked, visit);
    } else {
      detail::walk_entry(bytes, walked, visit);
    }
    return walked.run;
  };
  if (holds_ == Holds::list) {
    visitor(bytes);
    return;
  }
  const std::size_t last = walk([](std::size_t, std::string_view) {});
  walk([&](std::size_t run, std::string_view list) {
    if (run == last) visitor(list);
  });
}

void FeatureView::require(FeatureKind kind) const {
  if (!present_) {
    const char* const what =
        step_ == kNoStep ? "is required but could not be found" : "holds no list of values";
    throw Error(ErrorCode::invalid_argument, fmt::format("{} {}", subject(), what));
  }
  if (kind_ != kind) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} holds {}, but {} are wanted", subject(), to_string(kind_),
                            to_string(kind)));
  }
}

void FeatureView::fail_count(std::size_t found, std::size_t wanted) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} holds {} {}, but {} {} wanted", subject(), found,
                          found == 1 ? "value" : "values", wanted, wanted == 1 ? "is" : "are"));
}

std::size_t FeatureView::count() const {
  std::size_t total = 0;
  visit_lists([&](std::string_view list) {
    switch (kind_) {
      case FeatureKind::bytes:
        detail::visit_bytes(list, [&total](std::string_view) { ++total; });
        break;
      case FeatureKind::floats:
        detail::visit_float_runs(
            list, [&total](std::string_view run) { total += run.size() / sizeof(float); });
        break;
      case FeatureKind::integers:
        total += detail::count_integers(list);
        break;
    }
  });
  return total;
}

template <class I>
void FeatureView::read_integers_into(std::span<I> out) const {
  require(FeatureKind::integers);
  std::size_t found = 0;
  visit_lists([&](std::string_view list) {
    detail::visit_integers(list, [&](std::span<const std::uint64_t> values) {
      if (found + values.size() <= out.size()) {
        narrow_all(values, out.data() + found, *this);
      }
      found += values.size();
    });
  });
  if (found != out.size()) fail_count(found, out.size());
}

template <class F>
void FeatureView::read_floats_into(std::span<F> out) const {
  require(FeatureKind::floats);
  std::size_t found = 0;
  visit_lists([&](std::string_view list) {
    detail::visit_float_runs(list, [&](std::string_view run) {
      const std::size_t count = run.size() / sizeof(float);
      if (found + count <= out.size()) convert_floats(run, out.data() + found);
      found += count;
    });
  });
  if (found != out.size()) fail_count(found, out.size());
}

void FeatureView::read_bytes(std::span<std::string_view> out) const {
  require(FeatureKind::bytes);
  std::size_t found = 0;
  visit_lists([&](std::string_view list) {
    detail::visit_bytes(list, [&](std::string_view value) {
      if (found < out.size()) out[found] = value;
      ++found;
    });
  });
  if (found != out.size()) fail_count(found, out.size());
}

std::string_view FeatureView::single_bytes() const {
  std::string_view value;
  read_bytes({&value, 1});
  return value;
}

template <class I>
void FeatureView::append_integers(std::vector<I>& out) const {
  if (!present_) return;
  require(FeatureKind::integers);
  visit_lists([&](std::string_view list) {
    detail::visit_integers(list, [&](std::span<const std::uint64_t> values) {
      for (const std::uint64_t value : values) out.push_back(narrow<I>(value, *this));
    });
  });
}

template <class F>
void FeatureView::append_floats(std::vector<F>& out) const {
  if (!present_) return;
  require(FeatureKind::floats);
  visit_lists([&](std::string_view list) {
    detail::visit_float_runs(list, [&](std::string_view run) {
      const std::size_t before = out.size();
      out.resize(before + run.size() / sizeof(float));
      convert_floats(run, out.data() + before);
    });
  });
}

void FeatureView::append_bytes(std::vector<std::string_view>& out) const {
  if (!present_) return;
  require(FeatureKind::bytes);
  visit_lists([&](std::string_view list) {
    detail::visit_bytes(list, [&](std::string_view value) { out.push_back(value); });
  });
}

template void FeatureView::read_integers_into(std::span<bool>) const;
template void FeatureView::read_integers_into(std::span<signed char>) const;
template void FeatureView::read_integers_into(std::span<unsigned char>) const;
template void FeatureView::read_integers_into(std::span<short>) const;
template void FeatureView::read_integers_into(std::span<unsigned short>) const;
template void FeatureView::read_integers_into(std::span<int>) const;
template void FeatureView::read_integers_into(std::span<unsigned>) const;
template void FeatureView::read_integers_into(std::span<long>) const;
template void FeatureView::read_integers_into(std::span<unsigned long>) const;
template void FeatureView::read_integers_into(std::span<long long>) const;
template void FeatureView::read_integers_into(std::span<unsigned long long>) const;
template void FeatureView::append_integers(std::vector<bool>&) const;
template void FeatureView::append_integers(std::vector<signed char>&) const;
template void FeatureView::append_integers(std::vector<unsigned char>&) const;
template void FeatureView::append_integers(std::vector<short>&) const;
template void FeatureView::append_integers(std::vector<unsigned short>&) const;
template void FeatureView::append_integers(std::vector<int>&) const;
template void FeatureView::append_integers(std::vector<unsigned>&) const;
template void FeatureView::append_integers(std::vector<long>&) const;
template void FeatureView::append_integers(std::vector<unsigned long>&) const;
template void FeatureView::append_integers(std::vector<long long>&) const;
template void FeatureView::append_integers(std::vector<unsigned long long>&) const;
template void FeatureView::read_floats_into(std::span<float>) const;
template void FeatureView::read_floats_into(std::span<double>) const;
template void FeatureView::read_floats_into(std::span<float16>) const;
template void FeatureView::read_floats_into(std::span<bfloat16>) const;
template void FeatureView::append_floats(std::vector<float>&) const;
template void FeatureView::append_floats(std::vector<double>&) const;

}  // namespace infeed
