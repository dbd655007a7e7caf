#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

/// Why: memory to read large pieces of a file into. On AMD's Zen 3 the system's copy out of its
/// page cache falls from 10 GB/s to 1.7 where the memory begins 1 to 31 bytes further into its page
/// than the bytes do in their file. Large memory from malloc begins 16 bytes into a page, so whole
/// pages read into it always meet that; this memory begins at a page.
///
///     infeed::ByteStream stream("table.csv.gz");
///     infeed::PageBuffer step(std::size_t{1} << 20);
///     while (const std::size_t got = stream.read(step)) use(step.data(), got);
namespace infeed {

class PageBuffer {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  explicit PageBuffer(std::size_t bytes)
      : size_(bytes),
        bytes_(static_cast<char*>(std::aligned_alloc(kPageBytes, whole_pages(bytes)))) {
    if (bytes_ == nullptr) throw std::bad_alloc();
  }

  char* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  operator std::span<char>() const { return {data(), size()}; }

 private:
  static std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  std::size_t size_;
  std::unique_ptr<char, Free> bytes_;
};

}  // namespace infeed
