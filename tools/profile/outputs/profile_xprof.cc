#include "profile/outputs/profile_xprof.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <infeed_xplane/xplane.pb.h>
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

namespace infeed::tools {
namespace {

constexpr std::string_view kBeforeXprof = "the profile was written for XProf";

using xplane::XEvent;
using xplane::XStat;

constexpr std::uint64_t kPsPerNs = 1000;

/// Returns the same bytes for the same message: maps are written in the order of their keys.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

/// Returns a host's name that is fit for a file's.
std::string host_of(const RecordedRun& run) {
  std::string host = detail::printable_text(run.host);
  for (char& c : host) {
    if (c == '/' || c == '\\') c = '_';
  }
  while (host.starts_with('.')) host.erase(0, 1);
  return host.empty() ? "host" : host.substr(0, 100);
}

/// A plane in the making: the names of its events and stats are gathered while its lines are
/// written.
class Plane {
 public:
  Plane(xplane::XPlane& plane, std::int64_t id, const std::string& name) : plane_(plane) {
    plane_.set_id(id);
    plane_.set_name(name);
  }

  XStat integer_stat(const std::string& name, std::uint64_t value) {
    XStat stat = stat_of(name);
    stat.set_int64_value(static_cast<std::int64_t>(value));
    return stat;
  }
  XStat real_stat(const std::string& name, double value) {
    XStat stat = stat_of(name);
    stat.set_double_value(value);
    return stat;
  }
  XStat bytes_stat(const std::string& name, std::string bytes) {
    XStat stat = stat_of(name);
    stat.set_bytes_value(std::move(bytes));
    return stat;
  }
  XStat text_stat(const std::string& name, std::string_view text) {
    XStat stat = stat_of(name);
    stat.set_str_value(detail::printable_text(text));
    return stat;
  }

  /// Stats of all events of that name.
  void describe_event(const std::string& name, const std::vector<XStat>& stats) {
    xplane::XEventMetadata& metadata = (*plane_.mutable_event_metadata())[event_id(name)];
    for (const XStat& stat : stats) *metadata.add_stats() = stat;
  }

  void add_line(const std::string& name, const std::vector<XEvent>& events) {
    xplane::XLine& line = *plane_.add_lines();
    line.set_id(plane_.lines_size());
    line.set_name(name);
    for (const XEvent& event : events) *line.add_events() = event;
  }
  void add_stat(XStat stat) { *plane_.add_stats() = std::move(stat); }

  /// `inset_ps` sooner to end and later to begin: readers can't tell which of two lies in the other
  /// if both begin and end at the same time.
  XEvent event(const std::string& name, std::uint64_t begin_ns, std::uint64_t length_ns,
               const std::vector<XStat>& stats = {}, std::uint64_t inset_ps = 0) {
    const std::uint64_t length_ps = length_ns * kPsPerNs;
    const std::uint64_t inset = std::min(inset_ps, length_ps / 4);
    XEvent event;
    event.set_metadata_id(event_id(name));
    event.set_offset_ps(static_cast<std::int64_t>(begin_ns * kPsPerNs + inset));
    event.set_duration_ps(static_cast<std::int64_t>(length_ps - 2 * inset));
    for (const XStat& stat : stats) *event.add_stats() = stat;
    return event;
  }

 private:
  using Ids = std::map<std::string, std::int64_t>;

  /// Returns the number of a name, which is described when it comes for the first time.
  template <class Metadata>
  static std::int64_t id_of(Ids& ids, const std::string& name, Metadata& metadata) {
    const auto [entry, is_new] = ids.try_emplace(name, static_cast<std::int64_t>(ids.size()) + 1);
    if (is_new) {
      metadata[entry->second].set_id(entry->second);
      metadata[entry->second].set_name(name);
    }
    return entry->second;
  }
  std::int64_t event_id(const std::string& name) {
    return id_of(events_, name, *plane_.mutable_event_metadata());
  }
  XStat stat_of(const std::string& name) {
    XStat stat;
    stat.set_metadata_id(id_of(stats_, name, *plane_.mutable_stat_metadata()));
    return stat;
  }

  xplane::XPlane& plane_;
  Ids events_, stats_;
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

/// Returns the steps of the part that is whole: XProf takes each one for its equal.
std::vector<std::size_t> detailed_steps_in_line(const RecordedRun& run) {
  std::vector<std::size_t> steps = steps_in_line(run);
  std::erase_if(steps, [&](std::size_t i) { return run.steps[i].begin_ns < run.detail_from_ns; });
  return steps;
}

void write_device_plane(const RecordedRun& run, const std::stop_token& stop, xplane::XPlane& out) {
  Plane plane(out, 1, "/device:TPU:0");
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    if (kOperations[i].name == nullptr) continue;
    plane.describe_event(
        kOperations[i].name,
        {plane.integer_stat("program_id", 1), plane.integer_stat("symbol_id", i + 1),
         plane.text_stat("hlo_category", kOperations[i].category)});
  }
  std::vector<XEvent> steps, modules, operations;
  for (const std::size_t i : detailed_steps_in_line(run)) {
    throw_if_stopped(stop, kBeforeXprof);
    const RecordedStep& step = run.steps[i];
    const std::vector<XStat> group{plane.integer_stat("group_id", step.number)};
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
  plane.add_stat(plane.text_stat("device_type_string", "TPU"));
  xplane::CoreDetails core;
  core.set_hostname(host_of(run));
  core.set_device_ordinal(0);
  core.set_core_num(0);
  core.set_local_chip_id(0);
  core.set_global_chip_id(0);
  core.set_global_core_id(0);
  plane.add_stat(plane.bytes_stat("core_details", bytes_of(core)));
  plane.add_stat(plane.real_stat("peak_teraflops_per_second", 1));
  plane.add_stat(plane.real_stat("peak_hbm_bw_gigabytes_per_second", 1));
}

/// A stage as tf.data names its kind, so that readers know which are file reads and which run
/// ahead: "parallel_map" is ParallelMap, record files are TFRecord.
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
  HostPlane(const RecordedRun& run, const ProfileReport& report, const std::stop_token& stop,
            xplane::XPlane& out)
      : run_(run), report_(report), stop_(stop), plane_(out, 2, "/host:CPU") {}

  void write() {
    add_waits();
    add_transfers();
    add_calls();
  }

 private:
  /// Adds the waits of the training step's thread.
  void add_waits() {
    const std::vector<int> late = late_index_by_step(run_, report_);
    std::vector<XEvent> events;
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
        std::vector<XStat> stats{plane_.integer_stat("id", ++last_id_),
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
    std::vector<XEvent> events;
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
      std::vector<XEvent> events;
      std::vector<std::uint64_t> open;  // ends, outermost first
      for (const SlowCall* const call : calls) {
        throw_if_stopped(stop_, kBeforeXprof);
        while (!open.empty() && open.back() <= call->begin_ns) open.pop_back();
        const std::uint64_t end =
            open.empty() ? call->end_ns() : std::min(call->end_ns(), open.back());
        open.push_back(end);
        std::vector<XStat> stats{plane_.integer_stat("position", call->position)};
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
  const std::vector<std::size_t> steps_ = detailed_steps_in_line(run_);
  Plane plane_;
  std::uint64_t last_id_ = 0;
};

/// Makes a folder of this moment that nobody has yet: "2026_11_23_09_50_33", and then "..._2".
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
  // In an arena no message is destroyed: a protobuf map that found no memory while it grew can't be.
  google::protobuf::Arena arena;
  auto& space = *google::protobuf::Arena::CreateMessage<xplane::XSpace>(&arena);
  write_device_plane(run, stop, *space.add_planes());
  HostPlane(run, report, stop, *space.add_planes()).write();
  space.add_hostnames(host_of(run));
  return bytes_of(space);
}

std::string profile_xprof(const RecordedRun& run, const ProfileReport& report,
                          const std::string& logdir, const std::stop_token& stop) {
  const std::string bytes = profile_xspace(run, report, stop);
  const std::string file = new_session(logdir) + "/" + host_of(run) + ".xplane.pb";
  replace_file(file, bytes, Durability::leave_to_system);
  return file;
}

}  // namespace infeed::tools
