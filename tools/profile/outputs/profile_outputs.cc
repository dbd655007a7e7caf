#include "profile/outputs/profile_outputs.h"

#include <cstdio>
#include <memory>
#include <string_view>

#include <infeed/records/output_file.h>

#include "cli/stop_on_signal.h"
#include "profile/outputs/profile_html.h"
#include "profile/outputs/profile_json.h"
#include "profile/outputs/profile_tensorboard.h"
#include "profile/outputs/profile_text.h"
#include "profile/outputs/profile_trace.h"
#include "profile/outputs/profile_xprof.h"

namespace infeed::tools {
namespace {

std::string text_for_a_file(const RecordedRun& run, const ProfileReport& report) {
  // It asks for nothing but whether it is a terminal, which this isn't.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  std::string text;
  for (const std::string& line : profile_text(run, report, Terminal(nowhere.get()))) {
    text += line + "\n";
  }
  return text;
}

}  // namespace

void write_profile_outputs(const RecordedRun& run, const ProfileReport& report,
                           const ProfileOutputs& outputs, const std::stop_token& stop) {
  for (const std::string* const file :
       {&outputs.text, &outputs.json, &outputs.html, &outputs.trace}) {
    if (!file->empty()) check_can_write(*file);
  }
  // A profile can be made again from its recording, so no time is spent on power cuts.
  constexpr Durability kDurability = Durability::leave_to_system;
  if (!outputs.text.empty()) {
    replace_file(outputs.text, text_for_a_file(run, report), kDurability);
  }
  if (!outputs.json.empty()) {
    replace_file(outputs.json, profile_json_text(run, report, stop), kDurability);
  }
  if (!outputs.html.empty())
    replace_file(outputs.html, profile_html(run, report, stop), kDurability);
  if (!outputs.trace.empty()) {
    // Written in pieces, since the trace of a long run has hundreds of megabytes.
    OutputFile file(outputs.trace, ExistingFile::replace, kDurability);
    profile_trace(run, report, [&](std::string_view bytes) {
      throw_if_stopped(stop, "the trace was written");
      file.write(bytes);
    });
    file.commit();
  }
  if (!outputs.tensorboard.empty()) profile_tensorboard(run, report, outputs.tensorboard, stop);
  if (!outputs.xprof.empty()) profile_xprof(run, report, outputs.xprof, stop);
}

}  // namespace infeed::tools
