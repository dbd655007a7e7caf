#include "driver.h"

#include <algorithm>
#include <pthread.h>

#include <infeed/pipeline/elementwise.h>

namespace infeed::detail {

void name_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

Driver::Driver(std::string name, Stage& input, const TypeInfo& type, ChunkQueue& queue)
    : name_(std::move(name)), input_(input), type_(type), queue_(queue) {}

Driver::~Driver() {
  queue_.stop();
  if (thread_.joinable()) thread_.join();
}

void Driver::start() {
  if (!started()) thread_ = std::thread([this] { run(); });
}

void Driver::run() {
  name_thread(name_);
  Chunk chunk(type_);
  try {
    while (input_.pull(chunk, std::min(chunk.capacity(), queue_.room_elements())) == Pull::values) {
      if (!queue_.push(chunk)) return;
    }
  } catch (...) {
    // Not an element's error but the stage's own (out of its memory limit, say): the last thing
    // that the consumer gets.
    chunk.set_error(current_error());
    queue_.push(chunk);
  }
  queue_.finish();
}

}  // namespace infeed::detail
