#include "infeed/detail/current_core.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace infeed::detail {

int current_core() {
#if defined(__linux__)
  const int core = ::sched_getcpu();
  return core < 0 ? 0 : core;
#else
  return 0;
#endif
}

}  // namespace infeed::detail
