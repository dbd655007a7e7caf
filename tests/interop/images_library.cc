#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/image/resize.h>

// Images for test_images.py, which loads this library and compares them with Pillow's.
namespace infeed::interop {
namespace {

std::string last_error;

/// Writes height, width and channels to `shape`, the pixels to `out`. Returns the error's text, or
/// null.
template <class Make>
const char* hand_out(Make make, std::int64_t* shape, std::uint8_t* out, std::size_t capacity) {
  try {
    const image::Image image = make();
    if (image.pixels.size() > capacity) return "the test gave too little room";
    shape[0] = static_cast<std::int64_t>(image.height);
    shape[1] = static_cast<std::int64_t>(image.width);
    shape[2] = static_cast<std::int64_t>(image.channels);
    std::copy(image.pixels.begin(), image.pixels.end(), out);
    return nullptr;
  } catch (const Error& error) {
    last_error = error.what();
    return last_error.c_str();
  }
}

}  // namespace
}  // namespace infeed::interop

extern "C" const char* infeed_decode(const char* bytes, std::size_t size, int channels,
                                     std::int64_t* shape, std::uint8_t* out, std::size_t capacity) {
  using namespace infeed;
  const auto make = [&] {
    return image::decode({bytes, size}, {.channels = static_cast<image::Channels>(channels)});
  };
  return interop::hand_out(make, shape, out, capacity);
}

/// `shape` is that of the image in `out`, and becomes that of the new one.
extern "C" const char* infeed_resize(std::size_t width, std::size_t height, int filter,
                                     std::int64_t* shape, std::uint8_t* out, std::size_t capacity) {
  using namespace infeed;
  const auto make = [&] {
    image::Image image{static_cast<std::size_t>(shape[1]),
                       static_cast<std::size_t>(shape[0]),
                       static_cast<std::size_t>(shape[2]),
                       {}};
    image.pixels.assign(out, out + image.height * image.row_bytes());
    return image::resize(image, {width, height}, static_cast<image::Filter>(filter));
  };
  return interop::hand_out(make, shape, out, capacity);
}
