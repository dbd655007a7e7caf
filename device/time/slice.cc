#include "infeed/device/slice.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <utility>

#include <infeed/detail/parse_whole.h>
#include <infeed/records/detail/nearest_names.h>

#include "refuse.h"

namespace infeed {
namespace {

// Sources: the "TPU v2 ... v6e" pages of Google Cloud's documentation and Jouppi et al., ISCA 2023
// (v4). Some values aren't published and are parameters instead of facts: the clock of v2
// (remembered) and v5p (derived from its peak), the host links of v2, v3, v5e and v5p (15 GB/s
// assumed), and v6e's clock: 918 TFLOP/s = 2 x 2 MXUs x 131072 multiply-adds x 1.75 GHz, which is
// what is stored.
// Links: v2's and v3's rates are published (sources differ on v3: 70 to 100). From v4 on they are
// the rates that collectives are said to reach of the published 50, 50, 100 and 112 (remembered).
// A row holds the differences from the defaults of ChipSpec.
constexpr std::array<ChipSpec, 6> kChips = {{
    {.generation = TpuGeneration::v2,
     .mxus_per_core = 1,
     .clock_ghz = 0.70,
     .bf16_tflops = 46,
     .hbm_gb = 16,
     .hbm_gb_per_s = 716,
     .ici_gb_per_s_link = 62},
    {.generation = TpuGeneration::v3,
     .mxus_per_core = 2,
     .clock_ghz = 0.94,
     .bf16_tflops = 123,
     .hbm_gb = 32,
     .hbm_gb_per_s = 900,
     .ici_gb_per_s_link = 83},
    {.generation = TpuGeneration::v4,
     .mxus_per_core = 4,
     .clock_ghz = 1.05,
     .bf16_tflops = 275,
     .hbm_gb = 32,
     .hbm_gb_per_s = 1200,
     .ici_gb_per_s_link = 45,
     .ici_figure = LinkFigure::effective,
     .host_gb_per_s = 16,
     .replica_is_core = false},
    {.generation = TpuGeneration::v5e,
     .cores = 1,
     .mxus_per_core = 4,
     .clock_ghz = 1.5,
     .bf16_tflops = 197,
     .hbm_gb = 16,
     .hbm_gb_per_s = 819,
     .vmem_mib_per_core = 128,
     .ici_gb_per_s_link = 45,
     .ici_figure = LinkFigure::effective,
     .chips_per_host = 8,
     .name_counts_cores = false,
     .replica_is_core = false},
    {.generation = TpuGeneration::v5p,
     .mxus_per_core = 4,
     .clock_ghz = 1.75,
     .bf16_tflops = 459,
     .hbm_gb = 95,
     .hbm_gb_per_s = 2765,
     .vmem_mib_per_core = 64,
     .ici_gb_per_s_link = 90,
     .ici_figure = LinkFigure::effective,
     .replica_is_core = false},
    {.generation = TpuGeneration::v6e,
     .cores = 1,
     .mxus_per_core = 2,
     .mxu_size = 256,
     .macs_per_cycle_mxu = 2 * 256 * 256,
     .clock_ghz = 1.75,
     .bf16_tflops = 918,
     .hbm_gb = 32,
     .hbm_gb_per_s = 1638,
     .vmem_mib_per_core = 128,
     .ici_gb_per_s_link = 90,
     .ici_figure = LinkFigure::effective,
     .host_gb_per_s = 32,
     .chips_per_host = 8,
     .name_counts_cores = false,
     .replica_is_core = false},
}};

struct Topology {
  TpuGeneration generation;
  std::array<std::int32_t, 3> chips;
};

using enum TpuGeneration;

// The shapes that Google offers, plus two of MLPerf runs: four joined v3 pods (v3-8192) and
// v4-6912.
constexpr Topology kTopologies[] = {
    {v2, {2, 2, 1}},    {v2, {4, 4, 1}},     {v2, {8, 8, 1}},     {v2, {8, 16, 1}},
    {v2, {16, 16, 1}},  {v3, {2, 2, 1}},     {v3, {4, 4, 1}},     {v3, {4, 8, 1}},
    {v3, {8, 8, 1}},    {v3, {8, 16, 1}},    {v3, {16, 16, 1}},   {v3, {16, 32, 1}},
    {v3, {32, 32, 1}},  {v3, {32, 128, 1}},  {v4, {2, 2, 1}},     {v4, {2, 2, 2}},
    {v4, {2, 2, 4}},    {v4, {2, 4, 4}},     {v4, {4, 4, 4}},     {v4, {4, 4, 8}},
    {v4, {4, 8, 8}},    {v4, {8, 8, 8}},     {v4, {8, 8, 12}},    {v4, {8, 8, 16}},
    {v4, {8, 16, 16}},  {v4, {12, 16, 18}},  {v4, {16, 16, 16}},  {v5e, {1, 1, 1}},
    {v5e, {2, 2, 1}},   {v5e, {2, 4, 1}},    {v5e, {4, 4, 1}},    {v5e, {4, 8, 1}},
    {v5e, {8, 8, 1}},   {v5e, {8, 16, 1}},   {v5e, {16, 16, 1}},  {v5p, {2, 2, 1}},
    {v5p, {2, 2, 2}},   {v5p, {2, 2, 4}},    {v5p, {2, 4, 4}},    {v5p, {4, 4, 4}},
    {v5p, {4, 4, 8}},   {v5p, {4, 8, 8}},    {v5p, {8, 8, 8}},    {v5p, {8, 8, 16}},
    {v5p, {8, 16, 16}}, {v5p, {16, 16, 16}}, {v5p, {16, 16, 24}}, {v6e, {1, 1, 1}},
    {v6e, {2, 2, 1}},   {v6e, {2, 4, 1}},    {v6e, {4, 4, 1}},    {v6e, {4, 8, 1}},
    {v6e, {8, 8, 1}},   {v6e, {8, 16, 1}},   {v6e, {16, 16, 1}},
};

std::string slice_name(const Topology& topology) {
  const ChipSpec& chip = chip_spec(topology.generation);
  const std::int32_t chips = topology.chips[0] * topology.chips[1] * topology.chips[2];
  const std::string_view prefix =
      topology.generation == v5e ? "v5litepod" : to_string(topology.generation);
  return fmt::format("{}-{}", prefix, chip.name_counts_cores ? chips * chip.cores : chips);
}

/// Parses "v4:4x4x12"; nothing if it isn't a topology of that generation.
std::optional<Topology> spelt_topology(std::string_view text) {
  constexpr std::int32_t kChipsMax = 16'384;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto* const chip = std::ranges::find_if(kChips, [&](const ChipSpec& spec) {
    return to_string(spec.generation) == text.substr(0, colon);
  });
  if (chip == kChips.end()) return std::nullopt;
  const std::size_t axes = chip->generation == v4 || chip->generation == v5p ? 3 : 2;
  Topology topology{.generation = chip->generation, .chips = {1, 1, 1}};
  std::string_view rest = text.substr(colon + 1);
  std::int64_t chips = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (!detail::take_number(rest, topology.chips.at(axis))) return std::nullopt;
    if (topology.chips.at(axis) < 1) return std::nullopt;
    chips *= topology.chips.at(axis);
    if (chips > kChipsMax) return std::nullopt;
    if (axis + 1 == axes) break;
    if (!rest.starts_with('x')) return std::nullopt;
    rest.remove_prefix(1);
  }
  return rest.empty() ? std::optional(topology) : std::nullopt;
}

/// True if `whole`, a device's full name, ends with `name`, which must have at least "TPU:3".
bool is_end_of(std::string_view name, std::string_view whole) {
  if (name.find("TPU:") == name.npos || !whole.ends_with(name)) return false;
  if (name.starts_with('/') || name.size() == whole.size()) return true;
  const char before = whole[whole.size() - name.size() - 1];
  return before == '/' || before == ':';
}

}  // namespace

std::string_view to_string(TpuGeneration generation) {
  constexpr std::array<std::string_view, 6> kNames = {"v2", "v3", "v4", "v5e", "v5p", "v6e"};
  return kNames.at(static_cast<std::size_t>(generation));
}

std::string_view to_string(LinkFigure figure) {
  return figure == LinkFigure::published ? "published" : "effective";
}

const ChipSpec& chip_spec(TpuGeneration generation) {
  return kChips[static_cast<std::size_t>(generation)];
}

std::string LogicalDevice::name() const {
  return fmt::format("/job:worker/replica:0/task:{}/device:TPU:{}", host, index);
}

Slice::Slice(std::string name, TpuGeneration generation, std::array<std::int32_t, 3> topology)
    : name_(std::move(name)), generation_(generation), topology_(topology) {}

Slice Slice::parse(std::string_view name) {
  for (const Topology& topology : kTopologies) {
    if (slice_name(topology) == name) {
      return {std::string(name), topology.generation, topology.chips};
    }
  }
  if (const auto topology = spelt_topology(name)) {
    return {std::string(name), topology->generation, topology->chips};
  }
  // Longer names can't be misspelt ones.
  const auto nearest = detail::names_by_distance(known_names(), name.substr(0, 64));
  detail::refuse(
      "unknown slice '{}'; the nearest known ones: {}; or spell the topology in chips, at most "
      "16,384 in all: v3:4x8, v4:4x4x12",
      name, fmt::join(std::span(nearest).first(3), ", "));
}

Slice Slice::single_device() { return parse("v5litepod-1"); }

std::string_view single_device_message() {
  return "no slice is named, so one device does all, that of v5litepod-1; name a slice for more of "
         "them, as in Slice::parse(\"v3-8\")";
}

std::vector<std::string> Slice::known_names() {
  std::vector<std::string> names;
  for (const Topology& topology : kTopologies) names.push_back(slice_name(topology));
  return names;
}

std::int32_t Slice::num_replicas(std::int32_t devices_of_replica) const {
  const std::int32_t of_host = replicas_of_host(0);
  if (devices_of_replica < 1 || of_host % devices_of_replica != 0) {
    detail::refuse(
        "replicas of {} devices on {}, whose hosts have {} each; devices_of_replica must divide "
        "that",
        devices_of_replica, name_, of_host);
  }
  return num_replicas() / devices_of_replica;
}

std::int32_t Slice::num_hosts() const {
  return (num_chips() + chip().chips_per_host - 1) / chip().chips_per_host;
}

std::int32_t Slice::first_replica_of_host(std::int32_t host) const {
  return std::min(host * chip().chips_per_host, num_chips()) * replicas_per_chip();
}

std::int32_t Slice::replicas_of_host(std::int32_t host) const {
  return first_replica_of_host(host + 1) - first_replica_of_host(host);
}

bool Slice::wraps_around(std::int32_t axis) const {
  const std::int32_t chips = topology_.at(static_cast<std::size_t>(axis));
  switch (generation_) {
    case v2:
      return chips >= 16;
    case v3:
      return chips == 32;  // v3-8192 joined four pods: its axis of 128 is a mesh
    case v4:
    case v5p:
      return chips % 4 == 0;
    case v5e:
    case v6e:
      return chips == 16;
  }
  return false;
}

std::int32_t Slice::device_named(std::string_view name) const {
  const std::vector<LogicalDevice> all = devices();
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_end_of(name, all[i].name())) found.push_back(static_cast<std::int32_t>(i));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    detail::refuse(
        "'{}' is a device of each of {} hosts of {}; say on which, as in \"task:{}/device:{}\"",
        name, found.size(), name_, all[static_cast<std::size_t>(found[1])].host,
        name.substr(name.find("TPU:")));
  }
  const std::string last = fmt::format("TPU:{}", replicas_of_host(0) - 1);
  const std::string there =
      num_hosts() > 1
          ? fmt::format("\"task:0/device:TPU:0\" to \"task:{}/device:{}\"", num_hosts() - 1, last)
      : num_replicas() > 1 ? fmt::format("\"TPU:0\" to \"{}\"", last)
                           : "\"TPU:0\"";
  detail::refuse("there is no device '{}' on {}; it has {}", name, name_, there);
}

std::vector<LogicalDevice> Slice::devices() const {
  std::vector<LogicalDevice> devices;
  devices.reserve(static_cast<std::size_t>(num_replicas()));
  for (std::int32_t host = 0; host < num_hosts(); ++host) {
    for (std::int32_t k = 0; k < replicas_of_host(host); ++k) {
      const std::int32_t replica = first_replica_of_host(host) + k;
      devices.push_back({.host = host, .index = k, .chip = replica / replicas_per_chip()});
    }
  }
  return devices;
}

}  // namespace infeed
