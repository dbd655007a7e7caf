#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "infeed/records/compression.h"

/// One gzip or zlib stream, made as its bytes come. The header has no time in it: the same bytes,
/// written in the same pieces, give the same file.
namespace infeed::detail {

class Deflater {
 public:
  using Sink = std::function<void(std::string_view)>;

  virtual ~Deflater() = default;
  virtual void write(std::string_view bytes) = 0;
  /// All bytes so far go to the sink, and what follows refers to nothing before it.
  virtual void flush_point() = 0;
  /// The rest and the trailer.
  virtual void finish() = 0;
};

/// `level` is 0 to 3 for ISA-L, which is several times faster, and 4 to 9 for zlib.
std::unique_ptr<Deflater> make_deflater(Compression compression, int level, Deflater::Sink sink);

/// The two of them; the level is right.
std::unique_ptr<Deflater> make_isal_deflater(Compression compression, int level,
                                             Deflater::Sink sink);
std::unique_ptr<Deflater> make_zlib_deflater(Compression compression, int level,
                                             Deflater::Sink sink);

}  // namespace infeed::detail
