#include <infeed/records/files.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/convert/inputs/example_text.h"
#include "tools/run_program.h"

/// The example program of a user's own reader (tools/examples/own_input.cc), as a user runs it.
namespace infeed::test {
namespace {

class OwnInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("bergen.log", "1.5 2 -3\n4\n");
    folder_.write("oslo.log", "-7 -8\n");
  }
  ProgramResult run(std::vector<std::string> words) const {
    words.insert(words.end(), {"-o", folder_.file("out"), "--shards", "2"});
    return run_infeed(words, {.program = INFEED_OWN_INPUT_EXAMPLE});
  }

  TemporaryFolder folder_;
};

TEST_F(OwnInput, IsConvertedByItsNameAndByItsKind) {
  const ProgramResult result = run({"convert", folder_.file("*.log")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("3 days in 2 shards"));
  EXPECT_THAT(example_texts(match_files(folder_.file("out/data-*.tfrecord"))),
              ElementsAre("station=['bergen'] temperatures=[1.5f, 2f, -3f]",
                          "station=['bergen'] temperatures=[4f]",
                          "station=['oslo'] temperatures=[-7f, -8f]"));
  EXPECT_THAT(run({"convert", folder_.file("*.log"), "--kind", "temperatures"}).out,
              HasSubstr("complete already"));
}

TEST_F(OwnInput, HasTheRestOfTheProgramToo) {
  folder_.write("oslo.log", "-7 warm\n9\n");
  const ProgramResult bad = run({"convert", folder_.file("*.log")});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("' warm' is no temperature"), HasSubstr("oslo#2"),
                             HasSubstr("--quarantine-max")));
  const ProgramResult good = run({"convert", folder_.file("*.log"), "--quarantine-max", "1"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(run({"convert", "--help"}).out, HasSubstr("temperatures"));
  folder_.write("x.unknown", "?");
  EXPECT_THAT(run({"convert", folder_.file("x.unknown")}).err, HasSubstr("files, temperatures"));
}

}  // namespace
}  // namespace infeed::test
