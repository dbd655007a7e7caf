#include "infeed/device/cluster.h"

#include <fmt/format.h>

#include <infeed/error.h>

namespace infeed {

Cluster Cluster::connect(std::string_view slice) { return Cluster(Slice::parse(slice)); }

void Cluster::initialize() {
  if (!is_initialized_->exchange(true)) return;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("cluster {} was initialised before, and a second time would drop the "
                          "variables on its devices; initialise it once, and make as many "
                          "strategies of it as you like",
                          slice_.name()));
}

std::vector<LogicalDevice> Cluster::devices() const {
  if (!is_initialized()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("cluster {} isn't initialised; call initialize() once before its "
                            "devices are used",
                            slice_.name()));
  }
  return slice_.devices();
}

}  // namespace infeed
