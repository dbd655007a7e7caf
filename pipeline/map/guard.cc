#include "map/guard.h"

#include <algorithm>
#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <thread>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

/// The function object of the guarded kernel, in place of the user's function.
struct Guarded {
  ElementwiseSpec inner;
  const TypeInfo& in_type;
};

ErrorPointer cancelled_error() {
  return std::make_shared<const Error>(ErrorCode::cancelled, "the iteration was ended");
}

/// Returns false if the run is cancelled meanwhile.
bool wait(const IteratorContext& run, std::chrono::steady_clock::duration duration) {
  using Clock = std::chrono::steady_clock;
  // The longest delay until a cancellation is seen.
  constexpr Clock::duration kLook = std::chrono::milliseconds(20);
  const auto end = Clock::now() + duration;
  while (!run.cancelled()) {
    const auto left = end - Clock::now();
    if (left <= left.zero()) return true;
    std::this_thread::sleep_for(std::min(left, kLook));
  }
  return false;
}

/// Calls the function for one element, and again while that may help. Uses up the element.
KernelResult call_with_retries(const Guarded& guarded, void* in, void* out, const Place& place,
                               ErrorPointer& error) {
  const ElementwiseSpec& inner = guarded.inner;
  const TypeInfo& type = guarded.in_type;
  Chunk copy(type, 1);
  KernelResult result{1, 0};
  std::chrono::milliseconds backoff = inner.guard.backoff;
  for (int tries = 1;; ++tries) {
    try {
      type.copy_run(copy.back(), in, 1);
    } catch (...) {
      error = current_error();
      break;
    }
    result = inner.kernel(inner.function.get(), nullptr, copy.back(), out, 1, place, error);
    if (error == nullptr || error->code() != ErrorCode::unavailable) break;
    if (tries > inner.guard.retries) {
      error = std::make_shared<const Error>(error->reworded(
          error->code(), fmt::format("{} (tried {} times)", error->message(), tries)));
      break;
    }
    if (!wait(*place.run, backoff)) {
      error = cancelled_error();
      break;
    }
    error = nullptr;
    backoff = std::min(2 * backoff, inner.guard.backoff_max);
  }
  type.destroy(in, 1);
  return {1, result.produced, result.ended};
}

KernelResult guarded_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                            const Place& place, ErrorPointer& error) {
  const auto& guarded = *static_cast<const Guarded*>(function);
  KernelResult total{0, 0};
  while (total.consumed < count && error == nullptr && !total.ended) {
    auto* const from = static_cast<std::byte*>(in) + total.consumed * guarded.in_type.size;
    auto* const to = static_cast<std::byte*>(out) + total.produced * guarded.inner.out_type->size;
    Place here = place;
    here.position += total.consumed;
    const KernelResult one = call_with_retries(guarded, from, to, here, error);
    total.consumed += one.consumed;
    total.produced += one.produced;
    total.ended = one.ended;
  }
  return total;
}

void check(const ElementwiseSpec& spec, const TypeInfo& in_type) {
  const GuardOptions& guard = spec.guard;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, spec.name + ": " + what);
  };
  if (guard.retries < 0) {
    refuse(fmt::format("retries is {}; give 0 (none) or more", guard.retries.value()));
  }
  if (guard.backoff.count() < 0 || guard.backoff_max < guard.backoff) {
    refuse(fmt::format("backoff is {} and backoff_max {}; give 0 or more, and at least backoff",
                       guard.backoff, guard.backoff_max));
  }
  if (in_type.copy_run == nullptr) {
    refuse(
        fmt::format("a call can't be tried again, since its element ({}) can't be copied; pass "
                    "it in a std::shared_ptr, or leave out retries",
                    in_type.name));
  }
}

}  // namespace

ElementwiseSpec guarded(ElementwiseSpec spec, const TypeInfo& in_type) {
  check(spec, in_type);
  ElementwiseSpec outer = spec;
  outer.guard = {};
  outer.kernel = &guarded_kernel;
  outer.function = std::make_shared<const Guarded>(Guarded{std::move(spec), in_type});
  return outer;
}

}  // namespace infeed::detail
