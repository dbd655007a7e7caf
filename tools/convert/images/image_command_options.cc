#include "convert/images/image_command_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <string>

#include <infeed/detail/parse_whole.h>

#include "cli/option_checks.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kSideMax = 1 << 13;  // the decoder, too, takes two of them at most

/// Parses "224x160", or "224" for a square.
void parse_resize(const std::string& text, ImageOptions& options) {
  std::string_view rest = text;
  bool is_good = detail::take_number(rest, options.width);
  options.height = options.width;
  if (is_good && !rest.empty())
    is_good = rest.starts_with('x') && detail::parse_whole(rest.substr(1), options.height);
  const auto is_side = [](std::size_t side) { return side >= 1 && side <= kSideMax; };
  if (is_good && is_side(options.width) && is_side(options.height)) return;
  throw CLI::ValidationError(
      "--resize", fmt::format("'{}' is no size: WIDTHxHEIGHT or the side of a square is expected, "
                              "1 to {} each",
                              text, kSideMax));
}

}  // namespace

void add_image_options(CLI::App& command, ImageOptions& options) {
  CLI::Option* const decode = command.add_flag(
      "--decode-images", options.decode,
      "Folders of images and tar: write pixels with height, width and channels, not the JPEG and "
      "PNG files as they are; upright, as their Exif orientation says");
  command
      .add_option("--channels", options.channels,
                  "Channels of decoded images: 1 grey, 3 RGB, 4 RGB and alpha; without it what all "
                  "have in common, or 3")
      ->check(one_of({"1", "3", "4"}))
      ->needs(decode)
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--resize", [&options](const std::string& text) { parse_resize(text, options); },
          "Stretch decoded images to that size: 224x160, or 224 for a square; antialiased bilinear")
      ->needs(decode)
      ->type_name("SIZE");
  command
      .add_flag("--trust-images", options.trust,
                "Don't decode each image once to find the damaged ones; take the bytes as they are")
      ->excludes(decode);
}

}  // namespace infeed::tools
