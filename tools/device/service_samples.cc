#include "device/service_samples.h"

#include <cmath>
#include <fmt/format.h>
#include <string_view>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>

#include "cli/printable.h"

namespace infeed::tools {
namespace {

constexpr double kSampleMaxUs = 1e12;
constexpr double kPsOfSampleUs = 1e6;

std::string_view sample_in(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  text = text.substr(0, text.find('#'));
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

std::vector<std::int64_t> parse_service_samples(const std::string& text, const std::string& file) {
  std::vector<std::int64_t> samples;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = sample_in(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (line.empty()) continue;
    double us = 0;
    if (!detail::parse_whole(line, us) || !(us >= 0 && us <= kSampleMaxUs)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("line {} is '{}'; expected how long a batch took, in microseconds: a "
                              "number from 0 to 1e12",
                              number + 1, printable(line, 40)))
          .at_file(file);
    }
    samples.push_back(std::llround(us * kPsOfSampleUs));
  }
  if (samples.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "there is no service time in it; expected how long each batch took, in "
                "microseconds, a number a line")
        .at_file(file);
  }
  return samples;
}

std::string service_samples_text(const std::vector<std::int64_t>& ns) {
  std::string text = "# How long each batch took, in microseconds\n";
  for (const std::int64_t time_ns : ns) {
    text += fmt::format("{}.{:03}\n", time_ns / 1000, time_ns % 1000);
  }
  return text;
}

}  // namespace infeed::tools
