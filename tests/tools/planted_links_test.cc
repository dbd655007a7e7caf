#include <filesystem>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// A downloaded and unpacked folder may hold links at the names that the commands use.
namespace infeed::test {
namespace {

class PlantedLinks : public ::testing::Test {
 protected:
  PlantedLinks() {
    folder_.write("victim", "precious");
    folder_.write("in.csv", "a,b\n1,2\n3,4\n");
  }

  std::string victim() const { return read_whole(victim_); }
  ProgramResult convert() {
    return run_infeed({"convert", folder_.file("in.csv"), "-o", folder_.path(), "--name", "data"});
  }

  TemporaryFolder folder_;
  const std::string victim_ = folder_.file("victim");
};

TEST_F(PlantedLinks, ConvertAndIndexWriteNothingThroughThem) {
  for (const std::string name : {".data.plan.json.partial", ".data.manifest.json.partial"}) {
    fs::create_symlink(victim_, folder_.file(name));
  }
  const ProgramResult converted = convert();
  EXPECT_EQ(converted.status, 0) << converted.err;
  const std::string shard = folder_.file("data-00000-of-00001.tfrecord");
  fs::create_symlink(victim_, folder_.file(".data-00000-of-00001.tfrecord.index.partial"));
  fs::remove(shard + ".index");
  const ProgramResult indexed = run_infeed({"index", shard});
  EXPECT_EQ(indexed.status, 0) << indexed.err;
  EXPECT_EQ(victim(), "precious");
  EXPECT_EQ(run_infeed({"verify", shard}).status, 0);
}

TEST_F(PlantedLinks, ConvertRefusesAJournalThatIsALink) {
  const std::string journal = folder_.file(".data.journal");
  fs::create_symlink(victim_, journal);
  const ProgramResult soft = convert();
  EXPECT_EQ(soft.status, 1) << soft.err;
  EXPECT_THAT(soft.err, HasSubstr("'" + journal +
                                  "' is a symbolic link, but should be a file of "
                                  "this program's own; nothing was written"));
  fs::remove(journal);
  fs::create_hard_link(victim_, journal);
  const ProgramResult hard = convert();
  EXPECT_EQ(hard.status, 1) << hard.err;
  EXPECT_THAT(hard.err, HasSubstr("is another name of a file that has several"));
  EXPECT_EQ(victim(), "precious");
}

}  // namespace
}  // namespace infeed::test
