#include <fmt/format.h>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"

/// Tars as people have them, packed by GNU tar.
namespace infeed::test {
namespace {

class TarInputs : public ConversionTest {
 protected:
  void SetUp() override {
    write("0.txt", "zero");
    write("0.cls", "0");
    write("1.TXT", "one");
    write("1.cls", "1");
  }
  ProgramResult convert_tar() const { return convert({folder_.file("t.tar")}); }

  const std::vector<std::string> both_{"__key__=['0'] cls=[0] txt=['zero']",
                                       "__key__=['1'] cls=[1] txt=['one']"};
};

TEST_F(TarInputs, WhatIsNoFieldIsLeftOutAndSaid) {
  for (const char* const name : {"._0.txt", "._0.cls", ".DS_Store", "sub/._1.txt", "README"}) {
    write(name, "x");
  }
  shell(
      "mkfifo pipe.txt && tar -cf t.tar ._0.txt 0.txt ._0.cls 0.cls .DS_Store README sub "
      "pipe.txt 1.TXT 1.cls");
  const ProgramResult result = convert_tar();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("left out: 4 hidden members: ._0.txt, ._0.cls, .DS_Store, ...\n"),
                    HasSubstr("left out: 1 member without an extension: README\n"),
                    HasSubstr("left out: 1 device, pipe or the like: pipe.txt\n")));
  EXPECT_EQ(examples(), both_);
}

TEST_F(TarInputs, ArchivesOneBehindTheOther) {
  shell("tar -cf a.tar 0.txt 0.cls && tar -cf b.tar 1.TXT 1.cls && cat a.tar b.tar >t.tar");
  EXPECT_EQ(convert_tar().status, 0);
  EXPECT_EQ(examples(), both_);
}

TEST_F(TarInputs, HalvesOfSamplesAndLinksAreRefused) {
  shell("tar -cf t.tar 0.txt 1.TXT 0.cls 1.cls");
  ProgramResult result = convert_tar();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the member '0.cls' belongs to the sample '0', whose "
                                          "member '0.txt' stands apart at offset 512"),
                                HasSubstr("--sort=name")));
  shell("ln 0.txt 2.txt && ln -s 0.txt 3.txt && tar -cf t.tar 0.txt 0.cls 2.txt");
  EXPECT_THAT(convert_tar().err, HasSubstr("'2.txt' is a link to '0.txt'"));
  shell("tar -cf t.tar 0.txt 0.cls 3.txt");
  EXPECT_THAT(convert_tar().err, HasSubstr("'3.txt' is a link to '0.txt'"));
  shell("tar --dereference --hard-dereference -cf t.tar 2.txt 3.txt");
  EXPECT_EQ(convert_tar().status, 0);
  EXPECT_THAT(examples(), ElementsAre("__key__=['2'] txt=['zero']", "__key__=['3'] txt=['zero']"));
}

TEST_F(TarInputs, SparseMembersAreRefusedInEachForm) {
  shell("printf BEGIN >9.bin && truncate -s 1M 9.bin && printf END >>9.bin");
  for (const char* const form : {"gnu", "posix --sparse-version=0.0", "posix --sparse-version=0.1",
                                 "posix --sparse-version=1.0"}) {
    shell(fmt::format("tar --format={} --sparse --hole-detection=raw -cf t.tar 9.bin", form));
    const ProgramResult result = convert_tar();
    EXPECT_EQ(result.status, 1) << form;
    EXPECT_THAT(result.err, AllOf(HasSubstr("the member '9.bin' is sparse"), HasSubstr("t.tar"),
                                  HasSubstr("without --sparse")))
        << form;
  }
}

}  // namespace
}  // namespace infeed::test
