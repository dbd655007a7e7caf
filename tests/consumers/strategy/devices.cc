// Lists the logical devices, and watches which of them runs an operation.
#include <set>

#include "pictures.h"

int main() {
  const infeed::Cluster cluster = initialised("v3-32");
  std::set<std::string> names;
  for (const infeed::LogicalDevice& device : cluster.devices()) {
    std::printf("%s on chip %d\n", device.name().c_str(), device.chip);
    names.insert(device.name());
  }
  require(names.size() == 32, "a v3-32 has 32 devices");
  require(names.count("/job:worker/replica:0/task:3/device:TPU:7") == 1, "eight on each host");

  std::set<std::string> that_ran;
  infeed::Strategy strategy(
      cluster, {.on_operation = [&](const infeed::LogicalDevice& device, std::string_view operation,
                                    const infeed::Shape& shape) {
        if (that_ran.insert(device.name()).second) {
          std::printf("%.*s %s on %s\n", static_cast<int>(operation.size()), operation.data(),
                      shape.to_string().c_str(), device.name().c_str());
        }
      }});
  const infeed::Scope scope = strategy.scope({.seed = 1});
  strategy.evaluate(small_model(scope), pictures(64, 1));
  require(that_ran == names, "every device took part");
}
