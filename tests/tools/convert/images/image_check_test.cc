#include "convert/images/image_check.h"

#include <string>

#include <infeed/error.h>

#include "matchers.h"
#include "pipeline/image/encoded_images.h"

/// Images that are passed on unchanged.
namespace infeed::test {
namespace {

std::string check_error(const std::string& bytes) {
  try {
    tools::check_image(bytes);
    return "good";
  } catch (const Error& error) {
    return error.message();
  }
}

/// A GIF file of a pixel, with colours and an extension.
std::string gif() {
  return std::string("GIF89a\1\0\1\0\x80\0\0", 13) + "RGBrgb" +
         std::string("\x21\xf9\4\0\0\0\0\0", 8) +
         std::string("\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b", 16);
}

TEST(ImageCheck, FindsEveryCut) {
  const std::string bmp =
      "BM" + std::string("\x1e\0\0\0\0\0\0\0\x1a\0\0\0", 12) + std::string(16, 'p');
  const std::string webp =
      "RIFF" + std::string("\x0c\0\0\0", 4) + "WEBPVP8 " + std::string(4, '\0');
  for (const std::string& whole : {as_jpeg(32), as_png(32), gif(), bmp, webp}) {
    EXPECT_EQ(check_error(whole), "good") << whole.substr(0, 4);
    const bool is_png = whole.starts_with("\x89");
    for (std::size_t kept = 0; kept < whole.size() - (is_png               ? 12
                                                      : whole[0] == '\xff' ? 2
                                                                           : 0);
         kept += 3) {
      EXPECT_NE(check_error(whole.substr(0, kept)), "good") << whole.substr(0, 4) << kept;
    }
  }
  EXPECT_EQ(check_error(jpeg_of(4, 8, 8, std::vector<std::uint8_t>(8 * 8 * 4, 9))), "good");
  EXPECT_THAT(check_error(gif().substr(0, 30)), HasSubstr("the GIF image is cut: its 30 bytes"));
  EXPECT_THAT(check_error(gif().replace(19, 1, "?")), HasSubstr("damaged: at byte 19 is no block"));
  EXPECT_THAT(check_error("text"), HasSubstr("its 4 bytes don't begin like a JPEG"));
}

}  // namespace
}  // namespace infeed::test
