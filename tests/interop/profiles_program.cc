#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "profile/outputs/profile_outputs.h"
#include "tools/profile/synthetic_run.h"

// Writes every output of a profile that no machine recorded, for the Python tests to open.
//
//   infeed_profiles KIND FOLDER   KIND: plain, hostile (names that want to break out), empty (no
//                                 step), single (one step), long (20,000 steps)
namespace {

using infeed::testing::SyntheticOptions;

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: infeed_profiles KIND FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = argv[2];
  try {
    const auto [run, report] = infeed::testing::synthetic_profile(options_of(argv[1]));
    infeed::tools::write_profile_outputs(run, report,
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
