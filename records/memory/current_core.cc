#include "infeed/detail/current_core.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace infeed::detail {

int current_core() {
#if defined(__linux__)
  return std::max(0, ::sched_getcpu());
#else
  return 0;
#endif
}

}  // namespace infeed::detail
