#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "profile/outputs/profile_outputs.h"
#include "tools/profile/synthetic_run.h"

// Writes every output of a profile that no machine recorded, for the Python tests to open.
//
//   infeed_profiles KIND FOLDER   KIND: plain, hostile (names that want to break out), empty (no
//                                 step), single (one step), long (20,000 steps),
//                                 branched (a dozen stages, not in a line)
namespace {

using infeed::test::SyntheticOptions;

SyntheticOptions options_of(std::string_view kind) {
  if (kind == "hostile") {
    return {.file = "a \"quoted\" </script><script>alert(1)</script>\x1b[31m \xff\xfe<!--&amp;",
            .function = "</script><img src=x onerror=alert(1)> \xc3\x28 \"q\" \\ \n\x01",
            .program = "<b>train</b>"};
  }
  if (kind == "empty") return {.steps = 0};
  if (kind == "single") return {.steps = 1, .late_every = 0};
  if (kind == "long") return {.steps = 20'000, .first_step = 0, .late_every = 400};
  return {};
}

/// Replaces its shuffle by a zip of the records and of interleaved files, with a few more stages.
void branch(infeed::test::SyntheticProfile& profile) {
  auto& stages = profile.run.stages;
  stages[3].name = stages[3].label = "zip";
  const auto add = [&](const char* name, int consumer, int inside) {
    const int id = static_cast<int>(stages.size());
    stages.push_back(
        {.id = id, .name = name, .label = name, .consumer = consumer, .inside = inside});
    profile.report.stages.push_back(
        {.stage = id, .elements = 1000, .elements_per_s = 1600, .elements_per_s_max = 5000});
    return id;
  };
  const int interleave = add("interleave", 3, -1);
  add("files", interleave, -1);
  add("records", add("parse", -1, interleave), interleave);
  add("range", add("cache", add("filter", add("skip", 4, -1), -1), -1), -1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: infeed_profiles KIND FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[2];
  try {
    infeed::test::SyntheticProfile profile = infeed::test::synthetic_profile(options_of(argv[1]));
    if (std::string_view(argv[1]) == "branched") branch(profile);
    infeed::tools::write_profile_outputs(profile.run, profile.report,
                                         {.text = folder + "/profile.txt",
                                          .json = folder + "/profile.json",
                                          .html = folder + "/profile.html",
                                          .trace = folder + "/profile.trace.json",
                                          .tensorboard = folder + "/tensorboard",
                                          .xprof = folder + "/xprof"});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
