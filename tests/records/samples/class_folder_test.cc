#include "infeed/records/class_folder.h"

#include <filesystem>
#include <sys/stat.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class ClassFolders : public ::testing::Test {
 protected:
  void write(const std::string& name) const { folder_.write(name, name); }
  static std::vector<std::string> names(const ClassFolder& found) {
    std::vector<std::string> texts;
    for (const ClassFile& file : found.files) {
      texts.push_back(file.name + " " + std::to_string(file.label));
    }
    return texts;
  }
  static std::vector<std::string> omitted(const ClassFolder& found, LeftOut why) {
    return found.left_out[why].first;
  }

  const TemporaryFolder folder_;
};

TEST_F(ClassFolders, ClassesAndFilesInTheOrderOfTheirBytes) {
  for (const char* const name :
       {"b/2.jpg", "b/10.JPG", "a/deep/1.jpg", "a/0.jpg", "a/notes.txt", "C/1.jpeg", "top.jpg"}) {
    write(name);
  }
  fs::create_directory(folder_.file("empty"));
  const ClassFolder found =
      find_class_folder(folder_.file("") + "/", {.extensions = {"jpg", ".jpeg"}});
  EXPECT_THAT(found.classes, ElementsAre("C", "a", "b"));
  EXPECT_THAT(names(found),
              ElementsAre("C/1.jpeg 0", "a/0.jpg 1", "a/deep/1.jpg 1", "b/10.JPG 2", "b/2.jpg 2"));
  EXPECT_EQ(read_whole_file(found.path_of(found.files[2])).bytes(), "a/deep/1.jpg");
  EXPECT_THAT(omitted(found, LeftOut::other_name), ElementsAre("a/notes.txt"));
  EXPECT_THAT(omitted(found, LeftOut::beside_classes), ElementsAre("top.jpg"));
  EXPECT_THAT(omitted(found, LeftOut::empty_class), ElementsAre("empty"));
}

TEST_F(ClassFolders, ExtensionsAreLettersOfEitherCase) {
  for (const char* const name :
       {"a/1.@AZ[", "a/2.@az[", "a/3.`AZ[", "a/4.@AZ{", "a/5.@AZ", "a/6.@AZ[x", "a/@AZ[", "a/7."}) {
    write(name);
  }
  const ClassFolderOptions options{.extensions = {"@aZ["}};
  EXPECT_THAT(names(find_class_folder(folder_.path().string(), options)),
              ElementsAre("a/1.@AZ[ 0", "a/2.@az[ 0"));
}

TEST_F(ClassFolders, FilesMustPassTheFunctionAndTheExtensions) {
  for (const char* const name : {"a/1.jpg", "a/2.jpg", "a/2.txt", "b/1.jpg"}) write(name);
  const ClassFolder found = find_class_folder(
      folder_.path().string(),
      {.extensions = {"jpg"}, .wants = [](std::string_view name) { return name[0] == '2'; }});
  EXPECT_THAT(names(found), ElementsAre("a/2.jpg 0"));
  EXPECT_THAT(found.classes, ElementsAre("a"));
  EXPECT_THAT(omitted(found, LeftOut::empty_class), ElementsAre("b"));
}

TEST_F(ClassFolders, EmptyOnesTakeNoNumber) {
  fs::create_directories(folder_.file("a/deep"));
  write("b/1");
  write("c/1");
  const ClassFolder found = find_class_folder(folder_.path().string());
  EXPECT_THAT(names(found), ElementsAre("b/1 0", "c/1 1"));
  EXPECT_EQ(found.folder, folder_.path().string());
  EXPECT_EQ(find_class_folder(folder_.path().string() + "///").folder, folder_.path().string());
}

TEST(LookAlikes, AreTheSameLettersInAnotherForm) {
  using Pair = std::pair<std::string, std::string>;
  const std::string e_acute = "\xc3\xa9";
  // a with circumflex and acute, in one, two and three characters
  const std::vector<std::string> vietnamese{"\xe1\xba\xa5", "\xc3\xa2\xcc\x81",
                                            "a\xcc\x82\xcc\x81"};
  EXPECT_THAT(find_look_alikes(vietnamese),
              ElementsAre(Pair(vietnamese[0], vietnamese[1]), Pair(vietnamese[0], vietnamese[2])));
  const std::vector<std::string> korean{"\xed\x95\x9c", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"};
  EXPECT_EQ(find_look_alikes(korean).size(), 1U);
  const std::vector<std::string> japanese{"\xe3\x82\xac", "\xe3\x82\xab\xe3\x82\x99"};
  EXPECT_EQ(find_look_alikes(japanese).size(), 1U);
  // Two accents of a letter in another order.
  EXPECT_EQ(find_look_alikes({"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87"}).size(), 1U);
  EXPECT_THAT(find_look_alikes({"e", e_acute, "E", "\xc3\xa8", "\xc3", "\xff\xfe", "e\xcc", "",
                                "\xf0\x9f\x90\x88", e_acute}),
              ElementsAre());
}

TEST(LookAlikes, HaveNamesOfAtMostAKibibyte) {
  for (const std::size_t before : {1022, 1023}) {
    const std::string front(before, 'x');
    EXPECT_EQ(find_look_alikes({front + "\xc3\xa9", front + "e\xcc\x81"}).size(),
              before == 1022 ? 1U : 0U);
  }
}

TEST_F(ClassFolders, AreReadFileByFile) {
  write("a");
  const Record whole = read_whole_file(folder_.file("a"));
  EXPECT_EQ(whole.bytes(), "a");
  EXPECT_EQ(whole.file(), folder_.file("a"));
  EXPECT_EQ(whole.number(), 0U);
  EXPECT_EQ(whole.offset(), 0U);
  EXPECT_TRUE(read_whole_file(folder_.write("empty", "")).empty());
}

TEST_F(ClassFolders, NothingThatWaitsOrGoesInCircles) {
  write("a/1");
  write("a/.hidden");
  ASSERT_EQ(::mkfifo(folder_.file("a/pipe").c_str(), 0600), 0);
  fs::create_directory_symlink("..", folder_.file("a/up"));
  fs::create_symlink("/dev/zero", folder_.file("a/zero"));
  fs::create_symlink("nothing", folder_.file("a/2"));
  const ClassFolder found = find_class_folder(folder_.path().string());
  EXPECT_THAT(names(found), ElementsAre("a/1 0", "a/2 0"));
  EXPECT_TRUE(found.files[1].is_missing);
  EXPECT_THAT(omitted(found, LeftOut::no_file), ElementsAre("a/pipe", "a/zero"));
  EXPECT_THAT(omitted(found, LeftOut::loop), ElementsAre("a/up"));
  EXPECT_THAT(omitted(found, LeftOut::hidden), ElementsAre("a/.hidden"));
  const Error error = error_of([&] { read_whole_file(folder_.file("a/pipe")); });
  EXPECT_THAT(error.message(), HasSubstr("no regular file"));
  EXPECT_EQ(error_of([&] { read_whole_file(folder_.file("a/2")); }).code(), ErrorCode::not_found);
}

TEST_F(ClassFolders, LabelsOfAnotherFolder) {
  write("b/1");
  const ClassFolderOptions options{.classes = {"a", "b", "c"}};
  const ClassFolder found = find_class_folder(folder_.path().string(), options);
  EXPECT_THAT(names(found), ElementsAre("b/1 1"));
  EXPECT_THAT(found.classes, ElementsAre("a", "b", "c"));
  write("d/1");
  const Error error = error_of([&] { find_class_folder(folder_.path().string(), options); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("'d' is no class that was asked for: there are a, b, c"));
  EXPECT_EQ(error.file(), folder_.file("d"));
  EXPECT_EQ(error_of([&] { find_class_folder(folder_.file("gone")); }).code(),
            ErrorCode::not_found);
}

TEST_F(ClassFolders, ARefusalNamesTheFirstTwentyThatWereAskedFor) {
  write("other/1");
  ClassFolderOptions options;
  std::string named;
  for (int i = 0; i < 20; ++i) {
    options.classes.push_back("c" + std::to_string(i));
    named += (i == 0 ? "" : ", ") + options.classes.back();
  }
  const auto refusal = [&] {
    return error_of([&] { find_class_folder(folder_.path().string(), options); }).message();
  };
  const std::string front = "the folder 'other' is no class that was asked for: there are ";
  EXPECT_EQ(refusal(), front + named);
  options.classes.push_back("c20");
  EXPECT_EQ(refusal(), front + named + ", ...");
}

TEST_F(ClassFolders, ARefusalSaysThatANameOnlyLooksAlike) {
  write("e\xcc\x81/1");
  const ClassFolderOptions options{.classes = {"a", "\xc3\xa9"}};
  EXPECT_EQ(error_of([&] { find_class_folder(folder_.path().string(), options); }).message(),
            "the folder 'e\xcc\x81' and the class '\xc3\xa9' that was asked for look alike but "
            "differ in their Unicode form (macOS writes letters and accents apart); rename the "
            "folder");
}

}  // namespace
}  // namespace infeed::test
