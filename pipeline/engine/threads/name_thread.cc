#include "engine/threads/name_thread.h"

#include <pthread.h>

namespace infeed::detail {

void name_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace infeed::detail
