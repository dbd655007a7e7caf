#include "dataset/value_text.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/sequence_example.h>

#include "cli/printable.h"
#include "cli/terminal.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kValuesShownMax = 16;

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = detail::utf8_length(bytes);
    const auto first = static_cast<unsigned char>(bytes.front());
    if (length == 0 || first == 0x7f) return false;
    if (first < 0x20 && first != '\n' && first != '\t' && first != '\r') return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string_view image_name(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "JPEG";
  if (bytes.starts_with("\x89PNG\r\n")) return "PNG";
  if (bytes.starts_with("GIF8")) return "GIF";
  return {};
}

template <class T, class Describe>
std::string describe_list(const std::vector<T>& values, const Describe& describe) {
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(values.size(), kValuesShownMax); ++i) {
    text += (i == 0 ? "" : ", ") + describe(values[i]);
  }
  if (values.size() > kValuesShownMax) {
    text += fmt::format(", ... {} in all", with_commas(static_cast<std::int64_t>(values.size())));
  }
  return text + "]";
}

std::string describe_feature(const FeatureView& view, int width) {
  switch (view.kind()) {
    case FeatureKind::bytes: {
      std::vector<std::string_view> values;
      view.append_bytes(values);
      if (values.size() == 1) return describe_bytes(values.front(), width);
      return describe_list(values, [](std::string_view v) { return describe_bytes(v, 24); });
    }
    case FeatureKind::integers: {
      std::vector<std::int64_t> values;
      view.append_integers(values);
      return describe_list(values, [](std::int64_t v) { return fmt::format("{}", v); });
    }
    case FeatureKind::floats: {
      std::vector<float> values;
      view.append_floats(values);
      return describe_list(values, [](float v) { return fmt::format("{:.6g}", v); });
    }
  }
  return {};
}

std::string describe_list_of_steps(const FeatureListView& list) {
  constexpr std::size_t kStepsShownMax = 4;
  const std::size_t size = list.size();
  std::string text = counted(size, "step");
  FeatureSteps steps(list);
  FeatureView step;
  for (std::size_t i = 0; i < std::min(size, kStepsShownMax) && steps.next(step); ++i) {
    text += (i == 0 ? ": " : ", ") + (step.is_present() ? describe_feature(step, 24) : "(none)");
  }
  return size > kStepsShownMax ? text + ", ..." : text;
}

}  // namespace

std::string describe_bytes(std::string_view bytes, int width) {
  const std::string count = with_commas(static_cast<std::int64_t>(bytes.size()));
  const std::string_view image = image_name(bytes);
  if (!image.empty()) return fmt::format("{} image of {} bytes", image, count);
  if (is_text(bytes)) return "'" + printable(bytes, width) + "'";
  std::string hexadecimal;
  for (const char c : bytes.substr(0, static_cast<std::size_t>(width) / 3)) {
    hexadecimal += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  }
  const bool is_cut = bytes.size() > static_cast<std::size_t>(width) / 3;
  return fmt::format("{} bytes:{}{}", count, hexadecimal, is_cut ? " ..." : "");
}

std::vector<std::string> describe_example(std::string_view example, int columns) {
  const int width = std::max(columns - 40, 20);
  try {
    std::vector<std::string> names;
    for (const FeatureSummary& feature : summarise_example(example)) names.push_back(feature.name);
    const ExampleParser parser(names);
    std::vector<FeatureView> views(names.size());
    parser.parse(example, views);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < names.size(); ++i) {
      lines.push_back(fmt::format(
          "{:<24} {}", printable(names[i], 24),
          views[i].is_present() ? describe_feature(views[i], width) : "(no list of values)"));
    }
    visit_feature_lists(example, [&](const FeatureListView& list) {
      lines.push_back(
          fmt::format("{:<24} {}", printable(list.name(), 24), describe_list_of_steps(list)));
    });
    return lines;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) throw;
    return {"no tf.train.Example: " + describe_bytes(example, width)};
  }
}

std::vector<std::string> describe_message(const MessageType& type, std::string_view message,
                                          int columns) {
  constexpr std::size_t kLinesMax = 100;
  const auto width = static_cast<std::size_t>(std::max(columns - 4, 20));
  std::string text;
  try {
    text = type.text(message, width);
  } catch (const Error& error) {
    return {printable(error.message(), 1000)};
  }
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (std::string_view left = text; !left.empty(); ++count) {
    const std::size_t end = left.find('\n');
    if (count < kLinesMax) lines.push_back(printable(left.substr(0, end), static_cast<int>(width)));
    left.remove_prefix(std::min(left.size(), end == left.npos ? end : end + 1));
  }
  if (count > kLinesMax) {
    lines.push_back(fmt::format("... {} in all", counted(count, "line")));
  }
  if (lines.empty()) lines.emplace_back("(no field is set)");
  return lines;
}

}  // namespace infeed::tools
