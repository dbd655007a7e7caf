#include "infeed/detail/begin_thread.h"

#include <fmt/format.h>
#include <pthread.h>

#include "infeed/detail/start_threads.h"

namespace infeed::detail {

void begin_thread(const std::string& name, const std::function<void(std::string_view)>& tell) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (tell) tell(name);
}

Error no_thread(const std::system_error& error) {
  Error none(ErrorCode::resource_exhausted,
             fmt::format("the system gives no further thread ({}): ask for fewer threads, or raise "
                         "the limit of processes (ulimit -u, or that of the container)",
                         error.code().message()));
  none.as_terminal();  // it is no fault of the element that was to be read
  return none;
}

}  // namespace infeed::detail
