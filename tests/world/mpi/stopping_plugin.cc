// The plug-in in INFEED_TEST_PLUGIN, but rank 1 stops itself in INFEED_TEST_STOP_IN: the "start" or the "end" of MPI.

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

#include "world/mpi/mpi_functions.h"

namespace {

std::string_view variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

void stop_in(std::string_view part) {
  if (variable("INFEED_TEST_STOP_IN") == part && variable("OMPI_COMM_WORLD_RANK") == "1") {
    std::raise(SIGSTOP);
  }
}

InfeedMpiFunctions real{};

const char* start(int* rank, int* size) {
  stop_in("start");
  return real.start(rank, size);
}

const char* finish() {
  stop_in("end");
  return real.finish();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfeedMpiFunctions* infeed_mpi_functions(
    uint32_t abi) {
  void* const plugin = dlopen(variable("INFEED_TEST_PLUGIN").data(), RTLD_NOW | RTLD_GLOBAL);
  if (plugin == nullptr) return nullptr;
  // The handle's own symbol, not this function.
  const auto entry = reinterpret_cast<InfeedMpiEntry>(dlsym(plugin, "infeed_mpi_functions"));
  const InfeedMpiFunctions* const found = entry == nullptr ? nullptr : entry(abi);
  if (found == nullptr) return nullptr;
  real = *found;
  static const InfeedMpiFunctions functions = [] {
    InfeedMpiFunctions changed = real;
    changed.start = &start;
    changed.finish = &finish;
    return changed;
  }();
  return &functions;
}
