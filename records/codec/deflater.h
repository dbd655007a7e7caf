#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "infeed/records/compression.h"

/// One gzip or zlib stream, made as its bytes come (ISA-L). The header has no time in it: the same
/// bytes, written in the same pieces, give the same file.
namespace infeed::detail {

class Deflater {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `level` is 0 to 3.
  Deflater(Compression compression, int level, Sink sink);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void write(std::string_view bytes);
  /// All bytes so far go to the sink, and what follows refers to nothing before it.
  void flush_point();
  /// The rest and the trailer.
  void finish();

 private:
  struct State;
  void run(std::string_view bytes);
  std::size_t take_first_piece(std::string_view bytes);
  void give_short_first_piece();

  std::unique_ptr<State> state_;
};

}  // namespace infeed::detail
