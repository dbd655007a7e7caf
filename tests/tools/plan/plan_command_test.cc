#include <nlohmann/json.hpp>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/profile/made_recording.h"
#include "tools/run_program.h"

/// infeed plan: the real program, on recordings that are made up.
namespace infeed::test {
namespace {

constexpr std::int64_t kPsOfMs = 1'000'000'000;

class PlanCommand : public ::testing::Test {
 protected:
  /// Batches of 6 ms, each 250th of 50; the device was quicker.
  std::string recording(const std::string& name, std::size_t batches) const {
    std::vector<std::int64_t> times(batches, 6 * kPsOfMs);
    for (std::size_t i = 20; i < batches; i += 250) times[i] = 50 * kPsOfMs;
    return folder_.write(name, recording_text(parallel_recording_of(
                                   {.service_ps = times, .step_ps = 2 * kPsOfMs}, 4)));
  }
  /// Returns the text with the file's name as RUN.
  static std::string without(const std::string& file, std::string text) {
    for (std::size_t at = text.find(file); at != text.npos; at = text.find(file, at)) {
      text.replace(at, file.size(), "RUN");
    }
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(PlanCommand, PrintsATableAndWritesJsonAndAPicture) {
  const std::string run = recording("run.profile", 1000);
  const std::string json = folder_.file("plan.json");
  const std::string svg = folder_.file("plan.svg");
  const ProgramResult ended =
      run_infeed({"plan", run, "--slice", "v4-32", "--step-us", "8000", "--measured", "4:" + run,
                  "--json", json, "--svg", svg, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string printed = without(run, ended.out);
  EXPECT_THAT(
      printed,
      StartsWith("1,000 batches replayed on 1 to 4 hosts, steps of 8 ms\n"
                 "  a host makes a batch of 3.2 kB out of 3.2 kB of its files, with 24.7 ms of CPU "
                 "time\n"
                 "                as recorded: 4 cores, queue of 2       for 99 %\n"
                 " hosts       step     duty slowest host    costs   cores  queue      storage\n"
                 "     1     8.1 ms   98.7 %         6 ms    0.0 %       4      3     396 kB/s\n"
                 "     2 "));
  EXPECT_THAT(printed, HasSubstr("\n     4 "));
  EXPECT_THAT(printed,
              HasSubstr("\n  measured with 4 hosts: 32.4 % over 980 steps of 6.18 ms (RUN)\n"
                        "4 cores and a queue of 2 a host, as recorded, reach "));
  EXPECT_THAT(printed, HasSubstr(" % with 4 hosts, not 99 %: a queue of "));
  EXPECT_TRUE(printed.ends_with(" holds it.\n"));
  const auto plan = nlohmann::json::parse(read_whole(json));
  EXPECT_EQ(plan.at("schema"), "infeed.plan");
  EXPECT_EQ(plan.at("recorded_batches"), 1000);
  ASSERT_EQ(plan.at("rows").size(), 3u);
  const auto& last = plan.at("rows")[2];
  EXPECT_EQ(last.at("hosts"), 4);
  EXPECT_EQ(last.at("slice"), "v4-32");
  EXPECT_EQ(last.at("device_step_ps"), 8 * kPsOfMs);
  EXPECT_GE(last.at("need").at("duty_cycle"), 0.99);
  EXPECT_EQ(plan.at("measured")[0].at("hosts"), 4);
  EXPECT_EQ(plan.at("measured")[0].at("file"), run);
  const std::string picture = read_whole(svg);
  EXPECT_THAT(picture, HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(picture, HasSubstr("<polyline class=\"recorded\""));
  EXPECT_THAT(picture, HasSubstr("<polyline class=\"need\""));
  EXPECT_THAT(picture, HasSubstr("<title>4 hosts: "));
  EXPECT_TRUE(picture.ends_with("</svg>\n"));
}

TEST_F(PlanCommand, SaysWhatIsWrong) {
  const std::string run = recording("run.profile", 400);
  const std::string no_steps = folder_.file("no_steps.profile");
  write_whole(no_steps, read_whole(run).substr(0, read_whole(run).find("{\"window\"")));
  const auto refused = [&](std::vector<std::string> arguments, int status, const std::string& why) {
    arguments.insert(arguments.begin(), "plan");
    const ProgramResult ended = run_infeed(arguments);
    EXPECT_EQ(ended.status, status) << why;
    EXPECT_THAT(ended.err, HasSubstr(why));
  };
  refused({}, 2, "RECORDING");
  refused({folder_.file("none")}, 1, "no such file");
  refused({no_steps}, 1, "there is no step in the recording");
  refused({run, "--slice", "v4-8192"}, 1, "record at least 1,478");
  refused({run, "--slice", "v4-9"}, 2, "unknown slice 'v4-9'");
  refused({run, "--model", "resnet51"}, 2, "resnet51");
  refused({run, "--model", "lenet5", "--step-us", "5"}, 2, "excludes");
  refused({run, "--duty-cycle", "100"}, 2, "--duty-cycle");
  refused({run, "--duty-cycle", "nan"}, 2, "--duty-cycle");
  refused({run, "--queue-max", "0"}, 2, "--queue-max");
  refused({run, "--cores-max", "-1"}, 2, "--cores-max");
  refused({run, "--json", "/none/x.json"}, 1, "/none");
  for (const std::string wrong : {"4", "4:", ":f", "0:f", "1025:f", "x:f", "4x:f"}) {
    refused({run, "--measured", wrong}, 1, "expected HOSTS:FILE");
  }
  refused({run, "--measured", "2:" + folder_.file("none")}, 1, "no such file");
}

}  // namespace
}  // namespace infeed::test
