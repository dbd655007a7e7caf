#include <gmock/gmock.h>
#include <map>

#include <infeed/error.h>
#include <infeed/world.h>

namespace infeed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

DetectedWorld detect(const Variables& variables, int size = 0) {
  return detect_world({.size = size, .lookup = [&](const std::string& name) {
                         const auto found = variables.find(name);
                         return found == variables.end() ? std::nullopt
                                                         : std::optional(found->second);
                       }});
}

/// Returns the text of the error.
std::string refusal(const Variables& variables, int size = 0) {
  try {
    const DetectedWorld taken = detect(variables, size);
    return "not refused: " + taken.source;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
}

TEST(DetectWorld, ReadsEachLauncher) {
  const Variables torchrun{{"RANK", "3"}, {"WORLD_SIZE", "8"}};
  const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}};
  const Variables mpich{{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}};
  const Variables slurm{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}};
  const Variables job{{"JOB_COMPLETION_INDEX", "3"}, {"JOB_COMPLETIONS", "8"}};
  for (const Variables& variables : {torchrun, open_mpi, mpich, slurm, job}) {
    EXPECT_EQ(detect(variables).world, (World{3, 8})) << variables.begin()->first;
  }
  EXPECT_EQ(detect(torchrun).source, "RANK and WORLD_SIZE (torchrun)");
  EXPECT_EQ(detect(slurm).source, "SLURM_PROCID and SLURM_NTASKS (Slurm)");
}

TEST(DetectWorld, IsAloneWithoutLauncher) {
  EXPECT_EQ(detect({}).world, World{});
  EXPECT_EQ(detect({}).source, "no launcher");
  EXPECT_THAT(refusal({}, 4), HasSubstr("4 processes are expected"));
  // A shell in an allocation, and a count that a job's description sets for all containers.
  EXPECT_EQ(detect({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"JOB_COMPLETIONS", "4"}}).source,
            "no launcher");
}

TEST(DetectWorld, TakesTheSizeThatItsLauncherDoesNotSay) {
  EXPECT_EQ(detect({{"JOB_COMPLETION_INDEX", "3"}}, 8).world, (World{3, 8}));
  EXPECT_EQ(detect({{"PMIX_RANK", "3"}}, 8).world, (World{3, 8}));
  EXPECT_EQ(detect({{"PMIX_RANK", "3"},
                    {"SLURM_STEP_ID", "1"},
                    {"SLURM_PROCID", "3"},
                    {"SLURM_STEP_NUM_TASKS", "8"}})
                .world,
            (World{3, 8}));
  EXPECT_THAT(
      refusal({{"JOB_COMPLETION_INDEX", "3"}}),
      AllOf(HasSubstr("JOB_COMPLETION_INDEX is set (3)"), HasSubstr("set JOB_COMPLETIONS")));
  EXPECT_THAT(refusal({{"PMIX_RANK", "3"}}), HasSubstr("DetectWorldOptions::size"));
}

TEST(DetectWorld, RefusesAVariableWithoutItsPartner) {
  EXPECT_THAT(refusal({{"RANK", "1"}}),
              AllOf(HasSubstr("RANK is set (1), but WORLD_SIZE isn't"), HasSubstr("set both")));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "4"}}), HasSubstr("WORLD_SIZE is set (4), but RANK isn't"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "4"}}), HasSubstr("OMPI_COMM_WORLD_RANK isn't"));
  EXPECT_THAT(refusal({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}}),
              HasSubstr("SLURM_STEP_NUM_TASKS isn't"));
}

TEST(DetectWorld, RefusesWhatIsNoRank) {
  EXPECT_THAT(refusal({{"RANK", "one"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK is 'one'"));
  EXPECT_THAT(refusal({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK is '-1'"));
  EXPECT_THAT(refusal({{"RANK", ""}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK is ''"));
  EXPECT_THAT(refusal({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), HasSubstr("rank 4 of 4"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE is '0'"));
  EXPECT_THAT(refusal({{"JOB_COMPLETION_INDEX", "9"}}, 8), HasSubstr("rank 9 of 8"));
}

TEST(DetectWorld, RefusesLaunchersThatDisagree) {
  Variables both{{"RANK", "0"}, {"WORLD_SIZE", "4"}};
  both.insert({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_THAT(refusal(both), AllOf(HasSubstr("RANK and WORLD_SIZE (rank 0 of 4)"),
                                   HasSubstr("OMPI_COMM_WORLD_SIZE (rank 1 of 4) disagree"),
                                   HasSubstr("left over from another job")));
  both["OMPI_COMM_WORLD_RANK"] = "0";
  EXPECT_EQ(detect(both).world, (World{0, 4}));
  both["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_THAT(refusal(both), HasSubstr("(rank 0 of 2) disagree"));
  EXPECT_THAT(refusal({{"RANK", "0"}, {"WORLD_SIZE", "4"}}, 8), HasSubstr("8 are expected"));
}

TEST(DetectWorld, TakesTheInnerOfTwoLaunchers) {
  // Slurm starts torchrun once a node; torchrun starts four processes there.
  Variables nested{{"RANK", "6"}, {"WORLD_SIZE", "8"}, {"GROUP_WORLD_SIZE", "2"}};
  nested.insert({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(detect(nested).world, (World{6, 8}));
  nested["SLURM_NTASKS"] = "3";
  EXPECT_THAT(refusal(nested), HasSubstr("disagree"));
  // A pod of an Indexed Job that runs torchrun.
  EXPECT_EQ(detect({{"RANK", "6"},
                    {"WORLD_SIZE", "8"},
                    {"GROUP_WORLD_SIZE", "2"},
                    {"JOB_COMPLETION_INDEX", "1"}})
                .world,
            (World{6, 8}));
  // mpirun within an allocation starts its daemons by srun.
  EXPECT_EQ(detect({{"OMPI_COMM_WORLD_RANK", "5"},
                    {"OMPI_COMM_WORLD_SIZE", "8"},
                    {"SLURM_STEP_ID", "0"},
                    {"SLURM_PROCID", "0"},
                    {"SLURM_NTASKS", "1"}})
                .world,
            (World{5, 8}));
}

}  // namespace
}  // namespace infeed
