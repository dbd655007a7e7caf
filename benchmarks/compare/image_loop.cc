#include "image_loop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <jpeglib.h>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

namespace infeed::compare {
namespace {

constexpr std::size_t kSide = 224;
constexpr std::size_t kRowValues = kSide * 3;
constexpr std::size_t kBatch = 128;

struct Box {
  std::size_t left, top, width, height;
};

/// For each of `kSide` new pixels: the first old one, their number, and their weights.
struct Taps {
  std::array<std::size_t, kSide> first;
  std::array<std::size_t, kSide> count;
  std::vector<float> weights;  // kSide x most
  std::size_t most = 0;

  void plan(std::size_t length) {
    const float scale = static_cast<float>(length) / kSide;
    const float reach = std::max(scale, 1.0F);
    most = static_cast<std::size_t>(std::ceil(2 * reach)) + 1;
    weights.assign(kSide * most, 0);
    for (std::size_t i = 0; i < kSide; ++i) {
      const float centre = (static_cast<float>(i) + 0.5F) * scale;
      const auto begin = static_cast<std::size_t>(std::max(centre - reach + 0.5F, 0.0F));
      const auto end = std::min(static_cast<std::size_t>(centre + reach + 0.5F), length);
      float sum = 0;
      for (std::size_t x = begin; x < end; ++x) {
        const float distance = std::abs(static_cast<float>(x) + 0.5F - centre) / reach;
        sum += weights[i * most + x - begin] = std::max(1 - distance, 0.0F);
      }
      for (std::size_t k = 0; k < end - begin; ++k) weights[i * most + k] /= sum;
      first[i] = begin;
      count[i] = end - begin;
    }
  }
};

class Loop {
 public:
  Loop(const std::vector<std::string>& jpegs, std::size_t first)
      : jpegs_(jpegs), next_(first), random_(first), batch_(kBatch * kSide * kRowValues) {
    decoder_.err = jpeg_std_error(&errors_);  // ends the program on errors
    jpeg_create_decompress(&decoder_);
  }
  ~Loop() { jpeg_destroy_decompress(&decoder_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  double rate(double seconds) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t images = 0;
    double taken = 0;
    do {
      for (std::size_t i = 0; i < kBatch / 4; ++i, ++images) {
        make(jpegs_[next_ % jpegs_.size()], batch_.data() + images % kBatch * kSide * kRowValues);
        next_ += 2;
      }
      taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    } while (taken < seconds);
    return static_cast<double>(images) / taken;
  }

 private:
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_()) * 0x1p-32;
  }

  Box draw(std::size_t width, std::size_t height) {
    for (int i = 0; i < 10; ++i) {
      const double area = static_cast<double>(width * height) * uniform(0.08, 1);
      const double ratio = std::exp(uniform(std::log(0.75), std::log(4.0 / 3)));
      const auto w = static_cast<std::size_t>(std::lround(std::sqrt(area * ratio)));
      const auto h = static_cast<std::size_t>(std::lround(std::sqrt(area / ratio)));
      if (w <= width && h <= height) {
        return {static_cast<std::size_t>(uniform(0, static_cast<double>(width - w + 1))),
                static_cast<std::size_t>(uniform(0, static_cast<double>(height - h + 1))), w, h};
      }
    }
    return {0, 0, width, height};
  }

  void make(const std::string& jpeg, float* out) {
    jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
    jpeg_read_header(&decoder_, TRUE);
    decoder_.out_color_space = JCS_RGB;
    const Box box = draw(decoder_.image_width, decoder_.image_height);
    jpeg_start_decompress(&decoder_);
    auto left = static_cast<JDIMENSION>(box.left);
    auto width = static_cast<JDIMENSION>(box.width);
    jpeg_crop_scanline(&decoder_, &left, &width);
    if (box.top > 0) jpeg_skip_scanlines(&decoder_, static_cast<JDIMENSION>(box.top));
    across_.plan(box.width);
    down_.plan(box.height);
    lines_.resize(std::max(lines_.size(), box.height * kRowValues + 4));
    row_.resize(std::size_t{decoder_.image_width} * 3 + 64);
    // Rows that are aligned would be written past the caches.
    JSAMPROW row = row_.data() + (reinterpret_cast<std::uintptr_t>(row_.data()) % 16 == 0 ? 8 : 0);
    for (std::size_t y = 0; y < box.height; ++y) {
      jpeg_read_scanlines(&decoder_, &row, 1);
      resize_row(row + (box.left - left) * 3, lines_.data() + y * kRowValues);
    }
    jpeg_abort_decompress(&decoder_);
    blend((random_() & 1) != 0, out);
  }

  void resize_row(const std::uint8_t* row, float* line) const {
    for (std::size_t i = 0; i < kSide; ++i) {
      const std::uint8_t* pixel = row + across_.first[i] * 3;
      const float* const weights = across_.weights.data() + i * across_.most;
#if defined(__SSE4_1__)
      __m128 sum = _mm_setzero_ps();
      for (std::size_t k = 0; k < across_.count[i]; ++k, pixel += 3) {
        const __m128 value = _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_loadu_si32(pixel)));
        sum = _mm_add_ps(sum, _mm_mul_ps(value, _mm_set1_ps(weights[k])));
      }
      _mm_storeu_ps(line + 3 * i, sum);
#else
      for (std::size_t c = 0; c < 3; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < across_.count[i]; ++k) sum += weights[k] * pixel[3 * k + c];
        line[3 * i + c] = sum;
      }
#endif
    }
  }

  void blend(bool flip, float* out) {
    constexpr std::array<float, 3> kMean{0.485F * 255, 0.456F * 255, 0.406F * 255};
    constexpr std::array<float, 3> kDeviation{0.229F * 255, 0.224F * 255, 0.225F * 255};
    std::array<float, kRowValues> sum;
    std::array<float, kRowValues> scale;
    std::array<float, kRowValues> offset;
    for (std::size_t i = 0; i < kRowValues; ++i) {
      scale[i] = 1 / kDeviation[i % 3];
      offset[i] = -kMean[i % 3] / kDeviation[i % 3];
    }
    for (std::size_t y = 0; y < kSide; ++y, out += kRowValues) {
      sum.fill(0);
      for (std::size_t k = 0; k < down_.count[y]; ++k) {
        const float weight = down_.weights[y * down_.most + k];
        const float* const line = lines_.data() + (down_.first[y] + k) * kRowValues;
        for (std::size_t i = 0; i < kRowValues; ++i) sum[i] += weight * line[i];
      }
      for (std::size_t i = 0; i < kRowValues; ++i) sum[i] = sum[i] * scale[i] + offset[i];
      if (!flip) {
        std::copy(sum.begin(), sum.end(), out);
        continue;
      }
      for (std::size_t x = 0; x < kSide; ++x) {
        for (std::size_t c = 0; c < 3; ++c) out[3 * x + c] = sum[3 * (kSide - 1 - x) + c];
      }
    }
  }

  const std::vector<std::string>& jpegs_;
  std::size_t next_;
  std::mt19937 random_;
  jpeg_decompress_struct decoder_{};
  jpeg_error_mgr errors_{};
  Taps across_;
  Taps down_;
  std::vector<std::uint8_t> row_;
  std::vector<float> lines_;
  std::vector<float> batch_;
};

std::vector<std::string> read_jpegs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> jpegs;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    jpegs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  if (jpegs.empty()) throw std::runtime_error("plain loop: no images in " + folder.string());
  return jpegs;
}

}  // namespace

double two_image_loops_rate(const RunOptions& options) {
  const std::vector<std::string> jpegs = read_jpegs(options.data / "photos" / "jpeg");
  Loop one(jpegs, 0);
  Loop two(jpegs, 1);
  double other_rate = 0;
  std::thread other([&] {
    two.rate(options.measure_seconds / 4);
    other_rate = two.rate(options.measure_seconds);
  });
  one.rate(options.measure_seconds / 4);
  const double own_rate = one.rate(options.measure_seconds);
  other.join();
  return own_rate + other_rate;
}

}  // namespace infeed::compare
