#include <cerrno>
#include <fmt/format.h>
#include <liburing.h>
#include <optional>
#include <vector>

#include "infeed/error.h"
#include "io/direct/block_reads.h"

namespace infeed::detail {
namespace {

class UringReads final : public BlockReads {
 public:
  explicit UringReads(int descriptor, std::size_t slots)
      : descriptor_(descriptor), results_(slots) {}
  ~UringReads() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }
  UringReads(const UringReads&) = delete;
  UringReads& operator=(const UringReads&) = delete;

  bool open() {
    is_open_ = ::io_uring_queue_init(static_cast<unsigned>(results_.size()), &ring_, 0) == 0;
    return is_open_;
  }

  void start(std::size_t slot, std::uint64_t offset, std::span<char> into) override {
    results_[slot].reset();
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);  // there are as many as slots
    ::io_uring_prep_read(entry, descriptor_, into.data(), static_cast<unsigned>(into.size()),
                         offset);
    ::io_uring_sqe_set_data64(entry, slot);
    int submitted = 0;
    do submitted = ::io_uring_submit(&ring_);
    while (submitted == -EINTR || submitted == -EAGAIN);
    if (submitted < 0) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("io_uring refuses a read (error {})", -submitted));
    }
  }

  ssize_t wait(std::size_t slot) override {
    while (!results_[slot]) {
      io_uring_cqe* entry = nullptr;
      const int code = ::io_uring_wait_cqe(&ring_, &entry);
      if (code == -EINTR) continue;
      if (code < 0) return code;
      results_[::io_uring_cqe_get_data64(entry)] = entry->res;
      ::io_uring_cqe_seen(&ring_, entry);
    }
    return *results_[slot];
  }

 private:
  const int descriptor_;
  std::vector<std::optional<ssize_t>> results_;  // of each slot, once it is done
  io_uring ring_{};
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<BlockReads> make_uring_reads(int descriptor, std::size_t slots) {
  auto reads = std::make_unique<UringReads>(descriptor, slots);
  if (!reads->open()) return nullptr;
  return reads;
}

}  // namespace infeed::detail
