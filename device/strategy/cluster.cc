#include "infeed/device/cluster.h"

#include <atomic>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>

namespace infeed {

struct Cluster::State {
  explicit State(Slice of) : slice(std::move(of)) {}
  const Slice slice;
  std::atomic<bool> is_initialized{false};
};

Cluster Cluster::connect(std::string_view slice) { return Cluster(Slice::parse(slice)); }

Cluster::Cluster(Slice slice) : state_(std::make_shared<State>(std::move(slice))) {}

void Cluster::initialize() {
  if (!state_->is_initialized.exchange(true)) return;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("cluster {} was initialised before, and a second time would drop the "
                          "variables on its devices; initialise it once, and make as many "
                          "strategies of it as you like",
                          state_->slice.name()));
}

bool Cluster::is_initialized() const { return state_->is_initialized; }

const Slice& Cluster::slice() const { return state_->slice; }

std::vector<LogicalDevice> Cluster::devices() const {
  if (!is_initialized()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("cluster {} isn't initialised; call initialize() once before its "
                            "devices are used",
                            state_->slice.name()));
  }
  return state_->slice.devices();
}

}  // namespace infeed
