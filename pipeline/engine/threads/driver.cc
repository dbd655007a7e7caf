#include "engine/threads/driver.h"

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"

namespace infeed::detail {

Driver::Driver(const IteratorContext& run, std::string name, Stage& input, const TypeInfo& type,
               ChunkQueue& queue)
    : run_(run), name_(std::move(name)), input_(input), type_(type), queue_(queue) {}

Driver::~Driver() { queue_.stop(); }

void Driver::run() {
  run_.begin_thread(name_);
  Chunk chunk(type_);
  ErrorPointer failure;
  try {
    Pull pulled = Pull::values;
    do {
      if (!queue_.turn().driver_goes_on()) return;
      const std::size_t want = queue_.wait_for_room(chunk.capacity());
      if (want == 0) return;
      pulled = input_.pull(chunk, want);
      if (pulled == Pull::values && !queue_.push(chunk)) return;
    } while (pulled == Pull::values);
    if (pulled == Pull::cancelled) return queue_.stop();
  } catch (...) {
    failure = terminal_error();
  }
  queue_.finish(std::move(failure));
}

}  // namespace infeed::detail
