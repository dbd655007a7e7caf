#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "io/byte_source.h"

namespace infeed::detail {

inline constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

/// Decompresses one or several zstd frames, verifies the checksums that they have, and passes over
/// skippable frames. Damage ends the stream.
std::unique_ptr<ByteSource> make_zstd_source(const std::string& name,
                                             std::unique_ptr<ByteSource> input,
                                             std::size_t input_block_bytes);

}  // namespace infeed::detail
