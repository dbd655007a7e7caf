#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/drawn/drawn_pipeline_json.h"
#include "pipeline/drawn/drawn_pipeline_model.h"
#include "pipeline/suite/executors.h"
#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"

extern char** environ;

// A process shares nothing with another one but the checkpoint's text and the description. The test
// runs itself once more (INFEED_RESUME_TASKS marks the other process), and that process goes on
// with pipelines that this one began.

namespace infeed::test {
namespace {

constexpr const char* kTasks = "INFEED_RESUME_TASKS";

/// A line for each pipeline that was begun; the answer is a line with the rest of its stream.
struct Task {
  DrawnPipeline drawn;
  std::string checkpoint;
  Stream rest;  ///< the expected answer
};

/// Reads the tasks, and writes the answers into the file beside them.
void be_the_other_process(const std::string& file) {
  std::ifstream lines(file);
  std::ofstream answers(file + ".answers");
  SeededRandom random(1);
  const Executors executors;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json task = nlohmann::json::parse(line);
    const std::string checkpoint = task.at("checkpoint");
    auto resumed = build_pipeline(pipeline_from(task.at("pipeline")))
                       .iterate({.resume = Checkpoint::from_text(checkpoint),
                                 .executor = executors.any(random).executor});
    answers << nlohmann::json(take_stream(resumed, task.at("elements_max"))).dump() << '\n';
  }
}

/// Takes a part of an iteration. Half the time it is the dataset's second one, whose caches are
/// full, with the first one's epoch, so that all else is the same.
std::vector<Task> begin_some(int count, SeededRandom& random) {
  const Executors executors;
  std::vector<Task> tasks;
  while (std::ssize(tasks) < count) {
    const DrawnPipeline drawn = draw_pipeline(random, 7);
    const std::uint64_t epoch = random.below(3);
    const auto model = model_unless_all_fails(drawn, epoch);
    if (!model || model->size() > 1000) continue;
    const Stream& expected = *model;
    SCOPED_TRACE("pipeline " + drawn.to_json());
    const auto dataset = build_pipeline(drawn);
    if (random.chance(0.5)) {
      EXPECT_EQ(stream_of(dataset, {.epoch = epoch}), expected);
    }
    auto iterator = dataset.iterate({.executor = executors.any(random).executor, .epoch = epoch});
    const Stream begin = take_stream(iterator, random.below(expected.size() + 1));
    const auto place = expected.begin() + static_cast<std::ptrdiff_t>(iterator.position());
    EXPECT_EQ(begin, Stream(expected.begin(), expected.begin() + std::ssize(begin)));
    tasks.push_back({drawn, iterator.checkpoint().to_text(), Stream(place, expected.end())});
  }
  return tasks;
}

/// Returns the exit status of this program, started anew with this test only.
int run_this_test_again(const std::string& tasks_file) {
  ::setenv(kTasks, tasks_file.c_str(), 1);
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter = "--gtest_filter=ResumeInAnotherProcess.GoesOnExactly";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  ::pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ);
  ::unsetenv(kTasks);
  if (failed != 0) return -1;
  int status = 0;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

TEST(ResumeInAnotherProcess, GoesOnExactly) {
  if (const char* const tasks = std::getenv(kTasks)) return be_the_other_process(tasks);
  SeededRandom random;
  const TemporaryFolder folder;
  const std::string file = folder.file("tasks.jsonl");
  const std::vector<Task> tasks = begin_some(400, random);
  {
    std::ofstream lines(file);
    for (const Task& task : tasks) {
      lines << nlohmann::json({{"pipeline", nlohmann::json::parse(task.drawn.to_json())},
                               {"checkpoint", task.checkpoint},
                               {"elements_max", task.rest.size() + 3}})
                   .dump()
            << '\n';
    }
  }
  ASSERT_EQ(run_this_test_again(file), 0);
  std::ifstream answers(file + ".answers");
  for (const Task& task : tasks) {
    SCOPED_TRACE("pipeline " + task.drawn.to_json() + ", resumed from " + task.checkpoint);
    std::string line;
    ASSERT_TRUE(std::getline(answers, line));
    ASSERT_EQ(Stream(nlohmann::json::parse(line)), task.rest);
  }
}

}  // namespace
}  // namespace infeed::test
