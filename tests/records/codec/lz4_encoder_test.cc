#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <infeed/error.h>

#include "codec/lz4_file.h"
#include "records/codec/lz4_framed.h"
#include "thrown_error.h"

/// Tests that the levels of LZ4 files are those of the library that are meant.
namespace infeed::detail {
namespace {

/// Returns a block as the library makes it.
std::string library_block(const std::string& bytes, int library_level) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max256KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.compressionLevel = library_level;
  preferences.autoFlush = 1;
  LZ4F_cctx* context = nullptr;
  EXPECT_EQ(LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)), 0U);
  std::string out(LZ4F_compressBound(bytes.size(), &preferences) + LZ4F_HEADER_SIZE_MAX, '\0');
  LZ4F_compressBegin(context, out.data(), out.size(), &preferences);
  const std::size_t size =
      LZ4F_compressUpdate(context, out.data(), out.size(), bytes.data(), bytes.size(), nullptr);
  LZ4F_freeCompressionContext(context);
  EXPECT_EQ(LZ4F_isError(size), 0U);
  out.resize(size);
  return out;
}

TEST(Lz4Encoder, HasFourOfTheLibrarysLevels) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i) + " squared is " + std::to_string(i);
  constexpr std::array<int, 4> kLibraryLevels = {-7, 0, 4, 9};
  for (std::size_t level = 0; level < kLibraryLevels.size(); ++level) {
    std::string file;
    Lz4Encoder encoder(static_cast<int>(level), [&file](std::string_view made) { file += made; });
    const std::size_t begin = file.size();
    encoder.write_records(text, 1);
    EXPECT_TRUE(file.substr(begin) == library_block(text, kLibraryLevels.at(level))) << level;
  }
}

TEST(Lz4Encoder, RefusesOtherLevels) {
  for (const int level : {-1, 4}) {
    const Error error = error_of([&] { Lz4Encoder(level, [](std::string_view) {}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "compression_level is " + std::to_string(level) +
                                   ", for lz4 it goes from 0 (fastest) to 3 (smallest)");
  }
}

}  // namespace
}  // namespace infeed::detail
