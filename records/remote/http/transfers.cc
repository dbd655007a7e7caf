#include "remote/http/transfers.h"

#include <new>
#include <utility>

#include "infeed/detail/start_threads.h"

namespace infeed::detail {

Transfers::Transfers(UrlTarget target, UrlOptions options)
    : target_(std::move(target)), options_(with_bounded_times(std::move(options))) {
  start_curl();
  multi_.reset(::curl_multi_init());
  if (multi_ == nullptr) throw std::bad_alloc();
  thread_ = start_thread<std::jthread>([this] { run(); });
}

Transfers::~Transfers() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  ::curl_multi_wakeup(multi_.get());
}

std::shared_ptr<Transfer> Transfers::start(Transfer::Kind kind, std::uint64_t offset,
                                           std::size_t size, NamesAndValues query) {
  auto transfer = std::make_shared<Transfer>(kind, offset, size, std::move(query));
  if (size != 0) transfer->bytes = std::make_unique_for_overwrite<char[]>(size);
  {
    const std::lock_guard lock(mutex_);
    transfer->error = broken_;
    transfer->is_done = broken_.has_value();
    new_.push_back(transfer);
  }
  ::curl_multi_wakeup(multi_.get());
  return transfer;
}

std::size_t Transfers::wait(const Transfer& transfer, std::size_t have, std::size_t want) {
  std::unique_lock lock(mutex_);
  const bool is_there = changed_.wait(lock, options_.stop, [&] {
    return transfer.is_done || transfer.filled_bytes >= have + want;
  });
  if (transfer.filled_bytes > have) return transfer.filled_bytes;
  if (!is_there) {
    throw Error(ErrorCode::cancelled, "somebody asked to stop reading").at_file(target_.name());
  }
  if (transfer.error) throw Error(*transfer.error);
  return transfer.filled_bytes;
}

void Transfers::abandon(Transfer& transfer) {
  {
    const std::lock_guard lock(mutex_);
    if (transfer.is_done) return;
    transfer.is_abandoned = true;
  }
  ::curl_multi_wakeup(multi_.get());
}

std::size_t Transfers::size_of(const Transfer& transfer) const {
  const std::lock_guard lock(mutex_);
  return transfer.size_bytes;
}

ObjectIdentity Transfers::identity() const {
  const std::lock_guard lock(mutex_);
  return identity_.value_or(ObjectIdentity());
}

}  // namespace infeed::detail
