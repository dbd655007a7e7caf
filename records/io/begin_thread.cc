#include "infeed/detail/begin_thread.h"

#include <pthread.h>

namespace infeed::detail {

void begin_thread(const std::string& name, const std::function<void(std::string_view)>& tell) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (tell) tell(name);
}

}  // namespace infeed::detail
