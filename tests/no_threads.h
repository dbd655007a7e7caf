#pragma once

#include <cstddef>
#include <pthread.h>

namespace infeed::test {

/// A system that gives no thread: each would need a stack that no address space has.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before_);
    set(std::size_t{1} << 50);
    pthread_attr_destroy(&attributes);
  }
  ~NoThreads() { set(before_); }

 private:
  static void set(std::size_t bytes) {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  std::size_t before_ = 0;
};

}  // namespace infeed::test
