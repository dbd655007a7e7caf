#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>

/// Why: the slice decides the sizes in a simulated TPU: how many replicas share a global batch, how
/// many hosts must feed them, how fast a chip computes.
///
///     auto slice = infeed::Slice::parse("v3-8");   // 8 cores on 4 chips, one host
///     slice.num_replicas();                        // 8: on v2 and v3 a replica is a core
///     slice.devices()[3].name();                   // "/job:worker/replica:0/task:0/device:TPU:3"
///
/// Figures are Google's published ones (cloud.google.com/tpu/docs, one page a generation). slice.cc
/// marks figures that are remembered or derived instead of published.
///
/// Thread-safety: values; const access from any thread.
namespace infeed {

enum class TpuGeneration { v2, v3, v4, v5e, v5p, v6e };

std::string_view to_string(TpuGeneration generation);

/// The source of a link's rate. Published: the hardware's rate; effective: the rate that
/// collectives reach.
enum class LinkFigure : std::uint8_t { published, effective };

std::string_view to_string(LinkFigure figure);

/// One chip of a generation. Peaks are per chip. Most generations have the default values.
struct ChipSpec {
  TpuGeneration generation = TpuGeneration::v3;
  std::int32_t cores = 2;
  std::int32_t mxus_per_core = 0;
  std::int32_t mxu_size = 128;            ///< the array has mxu_size x mxu_size cells
  double macs_per_cycle_mxu = 128 * 128;  ///< multiply-adds that one MXU does in a cycle
  double clock_ghz = 0;
  double bf16_tflops = 0;
  double hbm_gb = 0;
  double hbm_gb_per_s = 0;
  double vmem_mib_per_core = 16;
  double ici_gb_per_s_link = 0;  ///< one way
  LinkFigure ici_figure = LinkFigure::published;
  double host_gb_per_s = 15;  ///< host to device, one way
  std::int32_t chips_per_host = 4;
  bool name_counts_cores = true;  ///< "v3-8" means 8 cores, "v5litepod-8" 8 chips
  bool replica_is_core = true;    ///< v2 and v3; later generations: a replica is a chip
};

/// Returns the row of the published table; every generation has one.
const ChipSpec& chip_spec(TpuGeneration generation);

/// A replica's logical device.
struct LogicalDevice {
  std::int32_t host = 0;   ///< the task
  std::int32_t index = 0;  ///< K of device:TPU:K, counted within the host
  std::int32_t chip = 0;   ///< counted over the slice
  std::string name() const;
};

class Slice {
 public:
  /// Parses a name as Google Cloud spells it, or a topology in chips: "v4:4x4x12". Throws
  /// invalid_argument, with the three nearest names, for an unknown one.
  static Slice parse(std::string_view name);
  /// Returns the slice to use when none is named: one device, that of v5litepod-1, the smallest.
  static Slice single_device();
  /// Returns all of Google's names that parse() takes, by generation and size.
  static std::vector<std::string> known_names();

  const std::string& name() const { return name_; }
  const ChipSpec& chip() const { return chip_spec(generation_); }
  std::int32_t num_chips() const { return topology_[0] * topology_[1] * topology_[2]; }
  std::int32_t num_cores() const { return num_chips() * chip().cores; }
  std::int32_t num_hosts() const;
  std::int32_t num_replicas() const { return num_chips() * replicas_per_chip(); }
  /// Number of replicas of so many devices each (model parallelism). Throws invalid_argument unless
  /// they divide each host's devices: activations don't go from host to host.
  std::int32_t num_replicas(std::int32_t devices_of_replica) const;
  std::int32_t replicas_per_chip() const { return chip().replica_is_core ? chip().cores : 1; }
  /// Number of replicas that host `host` feeds; replicas are numbered host by host.
  std::int32_t replicas_of_host(std::int32_t host) const;
  std::int32_t first_replica_of_host(std::int32_t host) const;
  /// Chips along each axis of the torus; unused axes are 1.
  const std::array<std::int32_t, 3>& topology() const { return topology_; }
  /// True if the links of `axis` close into a ring. v4, v5p: axes that are a multiple of 4 chips;
  /// v5e, v6e: axes of 16; v2, v3: only axes of a whole pod.
  bool wraps_around(std::int32_t axis) const;
  /// Returns one device a replica, in replica order.
  std::vector<LogicalDevice> devices() const;
  /// Returns the place in devices() of the device with this name: "TPU:3" or "/device:TPU:3"; on
  /// several hosts with its task, "task:1/device:TPU:3", up to the whole of LogicalDevice::name().
  /// Throws invalid_argument, with the known names, for another.
  std::int32_t device_named(std::string_view name) const;

 private:
  Slice(std::string name, TpuGeneration generation, std::array<std::int32_t, 3> topology);

  std::string name_;
  TpuGeneration generation_;
  std::array<std::int32_t, 3> topology_;
};

/// Returns the message for runs that fall back to Slice::single_device(). It says how to get more
/// devices.
std::string_view single_device_message();

}  // namespace infeed
