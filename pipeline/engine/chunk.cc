#include "infeed/pipeline/chunk.h"

#include <algorithm>

namespace infeed {
namespace {

// Columns are handed to vector code; 64 bytes is a cache line and the widest vector register.
constexpr std::size_t kAlignment = 64;

std::align_val_t alignment_of(const TypeInfo& type) {
  return std::align_val_t{std::max(kAlignment, type.alignment)};
}

}  // namespace

Chunk::Chunk(const TypeInfo& type, std::size_t capacity)
    : type_(&type),
      data_(static_cast<std::byte*>(::operator new(capacity* type.size, alignment_of(type)))),
      capacity_(capacity) {}

Chunk::~Chunk() {
  if (data_ == nullptr) return;
  clear();
  ::operator delete(data_, alignment_of(*type_));
}

Chunk::Chunk(Chunk&& other) noexcept
    : type_(other.type_),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      begin_(std::exchange(other.begin_, 0)),
      end_(std::exchange(other.end_, 0)),
      error_(std::move(other.error_)),
      held_(std::move(other.held_)) {}

Chunk& Chunk::operator=(Chunk&& other) noexcept {
  Chunk taken(std::move(other));
  swap(taken);
  return *this;
}

void Chunk::swap(Chunk& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  error_.swap(other.error_);
  std::swap(held_, other.held_);
}

std::size_t Chunk::append_from(Chunk& from, std::size_t count) {
  count = std::min({count, from.size(), room()});
  if (count == 0) return 0;
  type_->relocate(back(), from.front(), count);
  from.drop_front(count);
  grow(count);
  return count;
}

void Chunk::clear() {
  type_->destroy(front(), size());
  begin_ = end_ = 0;
  error_ = nullptr;
  held_.release();
}

}  // namespace infeed
