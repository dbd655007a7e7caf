#include "profile/outputs/profile_xprof.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <infeed/detail/printable_text.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

#include "cli/stop_on_signal.h"
#include "profile/outputs/profile_figures.h"
#include "profile/outputs/proto_message.h"

namespace infeed::tools {
namespace {

constexpr std::string_view kBeforeXprof = "the profile was written for XProf";

// Field numbers of tensorflow/tsl/profiler/protobuf/xplane.proto.
constexpr unsigned kSpacePlanes = 1, kSpaceHostnames = 4;
constexpr unsigned kPlaneId = 1, kPlaneName = 2, kPlaneLines = 3, kPlaneEventMetadata = 4,
                   kPlaneStatMetadata = 5, kPlaneStats = 6;
constexpr unsigned kLineId = 1, kLineName = 2, kLineEvents = 4;
constexpr unsigned kEventMetadataId = 1, kEventOffsetPs = 2, kEventDurationPs = 3, kEventStats = 4;
constexpr unsigned kStatMetadataId = 1, kStatDouble = 2, kStatInt64 = 4, kStatText = 5,
                   kStatBytes = 6;
constexpr unsigned kMetadataId = 1, kMetadataName = 2, kEventMetadataStats = 5;
constexpr unsigned kMapKey = 1, kMapValue = 2;

constexpr unsigned kCoreHostname = 1;
/// The device's, core's and chip's numbers, which are all 0 here.
constexpr std::array<unsigned, 5> kCoreNumbers{2, 3, 4, 5, 6};

constexpr std::uint64_t kPsPerNs = 1000;

/// A host's name, fit for a file's.
std::string host_of(const RecordedRun& run) {
  std::string host = detail::printable_text(run.host);
  for (char& c : host) {
    if (c == '/' || c == '\\') c = '_';
  }
  while (host.starts_with('.')) host.erase(0, 1);
  return host.empty() ? "host" : host.substr(0, 100);
}

/// A plane is written with the names of its events and stats gathered while its lines are.
class Plane {
 public:
  Plane(std::uint64_t id, std::string_view name) {
    plane_.integer(kPlaneId, id).text(kPlaneName, name);
  }

  std::uint64_t stat_id(std::string_view name) { return id_of(stats_, name); }
  ProtoMessage integer_stat(std::string_view name, std::uint64_t value) {
    ProtoMessage stat;
    stat.integer(kStatMetadataId, stat_id(name)).integer(kStatInt64, value);
    return stat;
  }
  ProtoMessage real_stat(std::string_view name, double value) {
    ProtoMessage stat;
    stat.integer(kStatMetadataId, stat_id(name)).real(kStatDouble, value);
    return stat;
  }
  ProtoMessage bytes_stat(std::string_view name, const ProtoMessage& message) {
    ProtoMessage stat;
    stat.integer(kStatMetadataId, stat_id(name)).message(kStatBytes, message);
    return stat;
  }
  ProtoMessage text_stat(std::string_view name, std::string_view text) {
    ProtoMessage stat;
    stat.integer(kStatMetadataId, stat_id(name)).text(kStatText, detail::printable_text(text));
    return stat;
  }

  std::uint64_t event_id(const std::string& name) { return id_of(events_, name); }
  /// For all events of that name.
  void describe_event(const std::string& name, const std::vector<ProtoMessage>& stats) {
    std::vector<ProtoMessage>& all = event_stats_[event_id(name)];
    all.insert(all.end(), stats.begin(), stats.end());
  }

  void add_line(std::string_view name, const std::vector<ProtoMessage>& events) {
    ProtoMessage line;
    line.integer(kLineId, ++lines_).text(kLineName, name);
    for (const ProtoMessage& event : events) line.message(kLineEvents, event);
    plane_.message(kPlaneLines, line);
  }
  void add_stat(const ProtoMessage& stat) { plane_.message(kPlaneStats, stat); }

  /// `inset_ps` sooner to end and later to begin: readers can't tell what lies in what where two
  /// begin and end at the same time.
  ProtoMessage event(const std::string& name, std::uint64_t begin_ns, std::uint64_t length_ns,
                     const std::vector<ProtoMessage>& stats = {}, std::uint64_t inset_ps = 0) {
    const std::uint64_t length_ps = length_ns * kPsPerNs;
    const std::uint64_t inset = std::min(inset_ps, length_ps / 4);
    ProtoMessage event;
    event.integer(kEventMetadataId, event_id(name))
        .integer(kEventOffsetPs, begin_ns * kPsPerNs + inset)
        .integer(kEventDurationPs, length_ps - 2 * inset);
    for (const ProtoMessage& stat : stats) event.message(kEventStats, stat);
    return event;
  }

  ProtoMessage finished() && {
    for (const auto& [name, id] : events_) {
      ProtoMessage metadata;
      metadata.integer(kMetadataId, id).text(kMetadataName, name);
      for (const ProtoMessage& stat : event_stats_[id]) {
        metadata.message(kEventMetadataStats, stat);
      }
      add_entry(kPlaneEventMetadata, id, metadata);
    }
    for (const auto& [name, id] : stats_) {
      ProtoMessage metadata;
      metadata.integer(kMetadataId, id).text(kMetadataName, name);
      add_entry(kPlaneStatMetadata, id, metadata);
    }
    return std::move(plane_);
  }

 private:
  using Ids = std::map<std::string, std::uint64_t, std::less<>>;
  static std::uint64_t id_of(Ids& ids, std::string_view name) {
    return ids.try_emplace(std::string(name), ids.size() + 1).first->second;
  }
  void add_entry(unsigned field, std::uint64_t id, const ProtoMessage& value) {
    ProtoMessage entry;
    entry.integer(kMapKey, id).message(kMapValue, value);
    plane_.message(field, entry);
  }

  ProtoMessage plane_;
  Ids events_, stats_;
  std::map<std::uint64_t, std::vector<ProtoMessage>> event_stats_;
  std::uint64_t lines_ = 0;
};

/// The operations that a step's parts are shown as; a pause has none.
struct StepOperation {
  const char* name;
  const char* category;
};
constexpr std::array<StepOperation, kStepParts.size()> kOperations{{{"infeed.1", "infeed"},
                                                                    {"copy.2", "copy"},
                                                                    {"fusion.3", "loop fusion"},
                                                                    {"all-reduce.4", "all-reduce"},
                                                                    {nullptr, nullptr}}};

ProtoMessage device_plane(const RecordedRun& run, const std::stop_token& stop) {
  Plane plane(1, "/device:TPU:0");
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    if (kOperations[i].name == nullptr) continue;
    plane.describe_event(
        kOperations[i].name,
        {plane.integer_stat("program_id", 1), plane.integer_stat("symbol_id", i + 1),
         plane.text_stat("hlo_category", kOperations[i].category)});
  }
  std::vector<ProtoMessage> steps, modules, operations;
  for (const std::size_t i : steps_in_line(run)) {
    throw_if_stopped(stop, kBeforeXprof);
    const RecordedStep& step = run.steps[i];
    const std::vector<ProtoMessage> group{plane.integer_stat("group_id", step.number)};
    steps.push_back(
        plane.event(std::to_string(step.number), step.begin_ns, step.length_ns(), group));
    modules.push_back(plane.event("jit_step(1)", step.begin_ns, step.length_ns(), group));
    std::uint64_t at = step.begin_ns;
    for (std::size_t part = 0; part < kStepParts.size(); ++part) {
      const std::uint64_t length = step.*kStepParts[part].of_step;
      if (kOperations[part].name != nullptr && length > 0) {
        operations.push_back(plane.event(kOperations[part].name, at, length, group));
      }
      at += length;
    }
  }
  plane.add_line("Steps", steps);
  plane.add_line("XLA Modules", modules);
  plane.add_line("XLA Ops", operations);
  plane.add_stat(
      plane.text_stat("device_type_string", run.device.empty() ? "TPU" : "TPU " + run.device));
  ProtoMessage core;
  core.text(kCoreHostname, host_of(run));
  for (const unsigned number : kCoreNumbers) core.integer(number, 0);
  plane.add_stat(plane.bytes_stat("core_details", core));
  plane.add_stat(plane.real_stat("peak_teraflops_per_second", 1));
  plane.add_stat(plane.real_stat("peak_hbm_bw_gigabytes_per_second", 1));
  return std::move(plane).finished();
}

/// A stage as tf.data names its kind, so that readers know which are file reads and which run ahead:
/// "parallel_map" is ParallelMap, record files are TFRecord.
std::string iterator_name(const RecordedStage& stage) {
  if (stage.name == "records") return "TFRecord";
  std::string name;
  bool is_begin = true;
  for (const char c : stage.name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      is_begin = true;
      continue;
    }
    name += is_begin ? static_cast<char>(std::toupper(byte)) : c;
    is_begin = false;
  }
  return name.empty() ? "Stage" : name;
}

class HostPlane {
 public:
  HostPlane(const RecordedRun& run, const ProfileReport& report, const std::stop_token& stop)
      : run_(run), report_(report), stop_(stop) {}

  ProtoMessage written() && {
    add_waits();
    add_transfers();
    add_calls();
    return std::move(plane_).finished();
  }

 private:
  /// Adds what the training step's thread waited for.
  void add_waits() {
    const std::vector<int> late = late_index_by_step(run_, report_);
    std::vector<ProtoMessage> events;
    for (const std::size_t i : steps_) {
      throw_if_stopped(stop_, kBeforeXprof);
      const RecordedStep& step = run_.steps[i];
      // Steps that only the device names are left out when there is a host.
      events.push_back(plane_.event("train", step.begin_ns, step.length_ns(),
                                    {plane_.integer_stat("group_id", step.number),
                                     plane_.integer_stat("step_num", step.number)}));
      if (step.infeed_wait_ns == 0) continue;  // tf.data's analysis ends at calls of no length
      int blamed = report_.bottleneck;
      if (late[i] >= 0) {
        const int stage = report_.late_steps[static_cast<std::size_t>(late[i])].stage;
        if (is_stage(run_, stage)) blamed = stage;
      }
      std::string name = "Iterator::Root";
      std::uint64_t parent = 0, depth = 1;
      const auto add = [&] {
        std::vector<ProtoMessage> stats{plane_.integer_stat("id", ++last_id_),
                                        plane_.integer_stat("group_id", step.number)};
        if (parent != 0) stats.push_back(plane_.integer_stat("parent_id", parent));
        parent = last_id_;
        events.push_back(plane_.event(name, step.begin_ns, step.infeed_wait_ns, stats, depth++));
      };
      add();
      for (const int stage : chain_to(run_, blamed)) {
        name += "::" + iterator_name(run_.stages[static_cast<std::size_t>(stage)]);
        add();
      }
    }
    if (!events.empty()) plane_.add_line("training step", events);
  }

  void add_transfers() {
    std::vector<ProtoMessage> events;
    for (const std::size_t i : steps_) {
      throw_if_stopped(stop_, kBeforeXprof);
      const RecordedStep& step = run_.steps[i];
      if (step.transfer_ns == 0) continue;
      events.push_back(plane_.event("infeed:InfeedEnqueueTuple",
                                    step.begin_ns + step.infeed_wait_ns, step.transfer_ns));
    }
    if (!events.empty()) plane_.add_line("transfer", events);
  }

  /// Slow calls by thread, for the trace viewer; no iterators, as their time is within the waits.
  void add_calls() {
    std::map<int, std::vector<const SlowCall*>> by_thread;
    for (const SlowCall& call : run_.slow_calls) by_thread[call.thread].push_back(&call);
    for (auto& [thread, calls] : by_thread) {
      std::stable_sort(calls.begin(), calls.end(), [](const SlowCall* a, const SlowCall* b) {
        return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->took_ns > b->took_ns;
      });
      std::vector<ProtoMessage> events;
      std::vector<std::uint64_t> open;  // ends, outermost first
      for (const SlowCall* const call : calls) {
        throw_if_stopped(stop_, kBeforeXprof);
        while (!open.empty() && open.back() <= call->begin_ns) open.pop_back();
        const std::uint64_t end =
            open.empty() ? call->end_ns() : std::min(call->end_ns(), open.back());
        open.push_back(end);
        std::vector<ProtoMessage> stats{plane_.integer_stat("position", call->position)};
        const std::string origin = origin_text(*call);
        if (!origin.empty()) stats.push_back(plane_.text_stat("record", origin));
        if (!call->waited_in.empty()) {
          stats.push_back(plane_.text_stat("waited_in", call->waited_in));
        }
        const std::string label = label_of(run_, call->stage);
        events.push_back(
            plane_.event("slow: " + detail::printable_text(label.empty() ? "call" : label),
                         call->begin_ns, end - call->begin_ns, stats));
      }
      plane_.add_line(fmt::format("thread {}", thread), events);
    }
  }

  const RecordedRun& run_;
  const ProfileReport& report_;
  const std::stop_token& stop_;
  const std::vector<std::size_t> steps_ = steps_in_line(run_);
  Plane plane_{2, "/host:CPU"};
  std::uint64_t last_id_ = 0;
};

/// A folder of this moment that nobody has yet: "2026_11_23_09_50_33", and then "..._2".
std::string new_session(const std::string& logdir) {
  const std::filesystem::path sessions = std::filesystem::path(logdir) / "plugins" / "profile";
  make_folder(sessions.string());
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  gmtime_r(&now, &calendar);
  std::array<char, 32> name{};
  std::strftime(name.data(), name.size(), "%Y_%m_%d_%H_%M_%S", &calendar);
  for (int number = 1;; ++number) {
    std::string session =
        (sessions / (number == 1 ? name.data() : fmt::format("{}_{}", name.data(), number)))
            .string();
    std::error_code error;
    if (std::filesystem::create_directory(session, error)) return session;
    if (error) throw system_error("create", session, error.value());
  }
}

}  // namespace

std::string profile_xspace(const RecordedRun& run, const ProfileReport& report,
                           const std::stop_token& stop) {
  ProtoMessage space;
  space.message(kSpacePlanes, device_plane(run, stop));
  space.message(kSpacePlanes, HostPlane(run, report, stop).written());
  space.text(kSpaceHostnames, host_of(run));
  return space.bytes();
}

std::string profile_xprof(const RecordedRun& run, const ProfileReport& report,
                          const std::string& logdir, const std::stop_token& stop) {
  const std::string bytes = profile_xspace(run, report, stop);
  const std::string file = new_session(logdir) + "/" + host_of(run) + ".xplane.pb";
  replace_file(file, bytes, Durability::leave_to_system);
  return file;
}

}  // namespace infeed::tools
