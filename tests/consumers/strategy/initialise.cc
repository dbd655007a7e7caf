// Connects to a slice and initialises it, once.
#include "pictures.h"

int main() {
  infeed::Cluster cluster = infeed::Cluster::connect("v3-8");
  require_error("isn't initialised", [&] { cluster.devices(); });
  cluster.initialize();
  std::printf("%s is ready: %d replicas\n", cluster.slice().name().c_str(),
              cluster.slice().num_replicas());
  require_error("was initialised before", [&] { cluster.initialize(); });
  require_error("v3-8", [] { infeed::Cluster::connect("v3-7"); });
}
