#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/stat.h>

#include <infeed/records/files.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/sequence_example.h>

#include "matchers.h"
#include "pipeline/image/encoded_images.h"
#include "temporary_folder.h"
#include "tools/convert/inputs/example_text.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// verify, inspect, repair, index and reshard, by the real program.
namespace infeed::test {
namespace {

class DatasetCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream table(folder_.file("t.csv"));
    table << "id,score,name\n";
    for (int i = 0; i < 400; ++i) table << i << ',' << i * 0.5 << ",name" << i << '\n';
    table.close();
    ASSERT_EQ(run_infeed({"convert", folder_.file("t.csv"), "-o", data(), "--shards", "4"}).status,
              0);
  }
  std::string data() const { return folder_.file("data"); }
  std::string shard(int index) const {
    return fmt::format("{}/data-0000{}-of-00004.tfrecord", data(), index);
  }
  ProgramResult verify(const std::string& name) const {
    return run_infeed({"verify", name, "--json", folder_.file("json")});
  }
  nlohmann::json json() const { return nlohmann::json::parse(std::ifstream(folder_.file("json"))); }
  /// Expects status 1, one line on stderr, and the problem on stdout.
  void expect_problem(const std::string& name, const std::vector<std::string>& said,
                      const std::string& end = "found; what is damaged can be copied") const {
    const ProgramResult result = verify(name);
    EXPECT_EQ(result.status, 1) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(end));
    for (const std::string& text : said) EXPECT_THAT(result.out, HasSubstr(text));
    EXPECT_GT(json().at("problems").get<int>(), 0);
  }

  TemporaryFolder folder_;
};

TEST_F(DatasetCommands, VerifyOfAGoodDataset) {
  for (const std::string& name : {data(), data() + "/data.manifest.json", data() + "/*.tfrecord"}) {
    const ProgramResult result = verify(name);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("good: 4 files, 400 records"));
    EXPECT_EQ(json().at("problems"), 0);
  }
}

TEST_F(DatasetCommands, VerifyFindsEveryKindOfDamage) {
  write_at(shard(1), 1000, "X");
  expect_problem(data(), {"1 problem", shard(1), "it has the checksum",
                          "99 of 100 records are whole; record "});
  expect_problem(shard(1), {"99 records are whole"});
  fs::resize_file(shard(2), 500);
  expect_problem(data(), {"2 problems", "it has 500 bytes instead of"});
  fs::remove(shard(3));
  write_at(shard(0) + ".index", 40, "X");
  expect_problem(data(),
                 {"4 problems", shard(3) + ": it is missing", "make it anew with infeed index"});
  write_whole(data() + "/data-00000-of-00009.tfrecord", "");
  expect_problem(data(),
                 {"5 problems", "data.manifest.json' doesn't list it: it is of another one"});
  write_at(data() + "/data.manifest.json", 30, "X");
  expect_problem(data(), {"1 problem", "the manifest is damaged"});
}

/// A file that can't be read for a while isn't called damaged. An index shall not be made anew for that.
TEST_F(DatasetCommands, VerifyOfFilesThatCantBeReadNow) {
  const std::string index = shard(1) + ".index";
  fs::remove(index);
  fs::create_symlink(index, index);
  expect_problem(data(), {"1 problem", index + ": it can't be looked at: Too many levels"},
                 "unavailable: 1 file can't be read now, so nothing is known of it");
  EXPECT_THAT(verify(data()).out, Not(HasSubstr("make it anew")));
  fs::remove(shard(2));
  expect_problem(data(), {"2 problems", shard(2) + ": it is missing"});
}

TEST_F(DatasetCommands, VerifyFindsEveryChangedByte) {
  const std::string whole = read_whole(shard(0));
  std::mt19937 random(9);
  for (int i = 0; i < 40; ++i) {
    const std::size_t at = random() % whole.size();
    write_at(shard(0), at, std::string(1, static_cast<char>(whole[at] ^ (1 << random() % 8))));
    ASSERT_EQ(verify(data()).status, 1) << at;
    write_at(shard(0), at, whole.substr(at, 1));
  }
  EXPECT_EQ(verify(data()).status, 0);
}

TEST_F(DatasetCommands, VerifyOfWhatIsNoDataset) {
  fs::create_directory(folder_.file("empty"));
  ProgramResult result = verify(folder_.file("empty"));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("there is no manifest"), HasSubstr("*.tfrecord")));
  folder_.write("empty/.train.plan.json", "{}");
  expect_problem(folder_.file("empty"),
                 {"the conversion of 'train' isn't finished: run the same infeed convert again"},
                 "1 conversion isn't finished: run the same infeed convert again");
  folder_.write("x.manifest.json", "{\"format\": \"other\"}");
  result = verify(folder_.file("x.manifest.json"));
  EXPECT_THAT(result.err, HasSubstr("no manifest of infeed: its \"format\" is \"other\""));
  EXPECT_EQ(run_infeed({"verify"}).status, 2);
}

TEST_F(DatasetCommands, RepairSavesWhatIsWhole) {
  const auto before = example_texts({shard(1)});
  write_at(shard(1), 1000, "X");
  const std::string damaged = read_whole(shard(1));
  const std::string saved = folder_.file("saved.tfrecord");
  const ProgramResult result =
      run_infeed({"repair", shard(1), "-o", saved, "--json", folder_.file("json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("99 records saved"), HasSubstr("lost: record "),
                                HasSubstr("in 1 range could not be saved")));
  EXPECT_EQ(read_whole(shard(1)), damaged);
  auto expected = before;
  const auto lost = json().at("lost").at(0).at("record").get<std::ptrdiff_t>();
  expected.erase(expected.begin() + lost);
  EXPECT_EQ(example_texts({saved}), expected);
  EXPECT_EQ(read_index(saved + ".index").size(), 99);

  const ProgramResult again = run_infeed({"repair", shard(1), "-o", saved});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("already_exists"), HasSubstr("--overwrite replaces it")));
  const ProgramResult table =
      run_infeed({"repair", folder_.file("t.csv"), "-o", folder_.file("none")});
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.err, HasSubstr("no whole record was found"));
  EXPECT_FALSE(fs::exists(folder_.file("none")));
  const ProgramResult itself = run_infeed({"repair", shard(1), "-o", shard(1), "--overwrite"});
  EXPECT_EQ(itself.status, 1);
  EXPECT_THAT(itself.err, HasSubstr("the damaged file itself"));
  EXPECT_EQ(read_whole(shard(1)), damaged);
}

TEST_F(DatasetCommands, RepairOfAGzipFileSavesWhatStandsBeforeTheDamage) {
  const std::string file = folder_.file("r.tfrecord.gz");
  {
    RecordWriter writer(file, {.compression = Compression::gzip});
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
      std::string noise(1000, '\0');
      for (char& c : noise) c = static_cast<char>(random());
      writer.write(noise);
    }
    writer.close();
  }
  fs::resize_file(file, fs::file_size(file) / 2);
  const ProgramResult result =
      run_infeed({"repair", file, "-o", folder_.file("saved.tfrecord.gz")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the file ends inside it"));
  const std::uint64_t saved = count_records(folder_.file("saved.tfrecord.gz"));
  EXPECT_GT(saved, 400);
  EXPECT_LT(saved, 510);
}

TEST_F(DatasetCommands, IndexOfBothKinds) {
  fs::remove(shard(0) + ".index");
  const std::string other = read_whole(shard(1) + ".index");
  ProgramResult result = run_infeed({"index", data() + "/*.tfrecord"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("00000-of-00004.tfrecord.index: 100 records"));
  EXPECT_EQ(read_whole(shard(1) + ".index"), other);
  EXPECT_EQ(verify(data()).status, 0);
  result = run_infeed({"index", "--dali", shard(0)});
  EXPECT_THAT(read_whole(shard(0) + ".idx"), StartsWith("0 "));
  ASSERT_EQ(run_infeed({"reshard", shard(0), "-o", folder_.file("gz"), "--compression", "gzip",
                        "--shards", "1"})
                .status,
            0);
  result = run_infeed({"index", folder_.file("gz") + "/*.gz"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("a gzip file cannot be indexed"), HasSubstr("reshard")));
  ASSERT_EQ(run_infeed({"reshard", shard(0), "-o", folder_.file("lz4"), "--compression", "lz4",
                        "--shards", "1"})
                .status,
            0);
  result = run_infeed({"index", folder_.file("lz4") + "/*.lz4"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it has its own inside"));
}

TEST_F(DatasetCommands, ReshardKeepsEveryRecord) {
  const std::string out = folder_.file("new");
  ASSERT_EQ(run_infeed({"reshard", data() + "/*.tfrecord", "-o", out, "--shards", "7", "--name",
                        "train", "--seed", "3"})
                .status,
            0);
  auto found = example_texts(match_files(out + "/train-*-of-00007.tfrecord"));
  auto expected = example_texts(match_files(data() + "/*.tfrecord"));
  EXPECT_NE(found, expected);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(verify(out).status, 0);
}

TEST_F(DatasetCommands, InspectShowsColumnsSizesAndValues) {
  ProgramResult result =
      run_infeed({"inspect", data() + "/*.tfrecord", "--json", folder_.file("json"), "--ascii"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("and 3 more"), HasSubstr("plain; all 400 records"),
            HasSubstr("0 to 399, mean 199.5"), HasSubstr("0 to 199.5, mean 99.75"),
            HasSubstr("5 to 7 bytes, mean 6.725"), HasSubstr("32 to 63"),
            HasSubstr("Record 2 of data-00000"), HasSubstr("'name0'"), Not(HasSubstr("Record 3"))));
  EXPECT_EQ(json().at("examples"), 400);
  EXPECT_EQ(json().at("record_bytes").at("buckets").at(0).at("records"), 400);
  result = run_infeed({"inspect", shard(0), "--first", "7", "--show", "1", "--records", "50"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("looked at the first 50"), HasSubstr("Record 7 of"),
                                HasSubstr("id                       [7]")));
  write_at(shard(0), 1000, "X");
  result = run_infeed({"inspect", shard(0)});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 problem was found"), HasSubstr("repair")));
  EXPECT_THAT(result.out, HasSubstr("problem: "));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST_F(DatasetCommands, AFolderStandsForItsRecordFiles) {
  ProgramResult result = run_infeed({"inspect", data()});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("and 3 more"), HasSubstr("all 400 records")));
  fs::remove(shard(0) + ".index");
  EXPECT_EQ(run_infeed({"index", data()}).status, 0);
  EXPECT_EQ(verify(data()).status, 0);
  for (const std::string command : {"reshard", "convert"}) {
    result = run_infeed({command, data(), "-o", folder_.file(command), "--shards", "1"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("400 records of 4 files in 1 shard, "));
  }
  write_at(shard(1), 1000, "X");
  result =
      run_infeed({"repair", data(), "-o", folder_.file("saved"), "--json", folder_.file("json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json().at("files").size(), 4);
  EXPECT_EQ(json().at("files").at(1).at("records_saved"), 99);
  EXPECT_THAT(run_infeed({"inspect", folder_.file("saved")}).out, HasSubstr("all 399 records"));
  result = run_infeed({"inspect", folder_.path()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("there are no record files in the folder"));
}

TEST_F(DatasetCommands, SetsInOneFolderArentMixedByAccident) {
  ASSERT_EQ(run_infeed({"convert", folder_.file("t.csv"), "-o", data(), "--name", "test"}).status,
            0);
  const ProgramResult result = run_infeed({"reshard", data(), "-o", folder_.file("new")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the shards of 2 sets"), HasSubstr("/data-*'")));
  EXPECT_THAT(run_infeed({"inspect", data()}).out, HasSubstr("2 sets together"));
}

TEST_F(DatasetCommands, VerifySaysThatAConversionIsntFinished) {
  fs::rename(data() + "/data.manifest.json", data() + "/.data.plan.json");
  fs::remove(shard(3));
  for (const std::string& name : {data(), data() + "/data.manifest.json", data() + "/*.tfrecord"}) {
    expect_problem(name, {"of 'data' isn't finished"}, "1 conversion isn't finished: run the same");
  }
  write_at(shard(1), 1000, "X");
  expect_problem(data() + "/*.tfrecord", {"of 'data' isn't finished"});
}

TEST_F(DatasetCommands, InspectShowsFeatureLists) {
  RecordWriter writer(folder_.file("clips"));
  for (const int steps : {2, 9}) {
    SequenceExampleBuilder builder;
    builder.context().integers("label", steps);
    FeatureListBuilder& frames = builder.list("frames");
    for (int i = 0; i < steps; ++i) frames.bytes("frame " + std::to_string(i));
    writer.write(builder.encode());
  }
  writer.close();
  const ProgramResult result =
      run_infeed({"inspect", folder_.file("clips"), "--json", folder_.file("json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("frames                   bytes     2 to 9       1"),
                    HasSubstr("2 steps: 'frame 0', 'frame 1'"), HasSubstr("'frame 3', ...")));
  EXPECT_EQ(json().at("schema").at("feature_lists").at(0).at("step_count_max"), 9);
}

TEST_F(DatasetCommands, InspectOfRecordsThatAreNoExamples) {
  RecordWriter writer(folder_.file("raw"));
  writer.write("plain text");
  writer.write(std::string("\0\1\2\xff", 4));
  writer.write("");
  writer.write(ExampleBuilder().bytes("t", "\x1b[31mred\x07").floats("f", NAN).encode());
  writer.close();
  const ProgramResult result = run_infeed({"inspect", folder_.file("raw"), "--show", "4"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 records are no tf.train.Example"),
                                HasSubstr("no tf.train.Example: 'plain text'"),
                                HasSubstr("4 bytes: 00 01 02 ff"), HasSubstr("none is finite"),
                                Not(HasSubstr("\x1b"))))
      << "what a record holds must not reach the terminal as commands";
}

TEST_F(DatasetCommands, InspectDrawsPictures) {
  const auto inspect = [&](const std::string& image, std::vector<std::string> more = {},
                           const std::string& name = "image") {
    RecordWriter writer(folder_.file("p"), {.existing = ExistingFile::replace});
    writer.write(ExampleBuilder().bytes(name, image).encode());
    writer.close();
    std::vector<std::string> words{"inspect", folder_.file("p"), "--picture", "image"};
    words.insert(words.end(), more.begin(), more.end());
    return run_infeed(words);
  };
  const auto rgb = half_white(8);
  for (const std::string& image :
       {as_png(8), as_jpeg(8), std::string(rgb.begin(), rgb.end()),
        std::string("\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0"
                    "\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0"
                    "\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0",
                    64)}) {
    const ProgramResult result = inspect(image);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("  @@@@    \n  @@@@    \n  @@@@    \n  @@@@    \n"));
  }
  EXPECT_THAT(inspect("aaaaaaaa").err, HasSubstr("--picture-size"));
  EXPECT_EQ(inspect("aaaaaaaa", {"--picture-size", "4x2"}).status, 0);
  EXPECT_THAT(inspect("aaaaaaaa", {"--picture-size", "4x3"}).err, HasSubstr("8 bytes are no 4x3"));
  EXPECT_THAT(inspect("aaaaaaaa", {"--picture-size", "4"}).err, HasSubstr("like 28x28"));
  EXPECT_THAT(inspect(as_png(8).substr(0, 60)).err, HasSubstr("PNG image can't be decoded"));
  EXPECT_THAT(inspect("\xff\xd8\xff-no").err, HasSubstr("JPEG image can't be decoded"));
  EXPECT_THAT(inspect("x", {}, "other").err, HasSubstr("no such feature"));
  // Whatever bytes come, it ends in order.
  std::mt19937 random(2);
  for (const std::string& whole : {as_png(16), as_jpeg(16)}) {
    for (int i = 0; i < 30; ++i) {
      std::string damaged = whole;
      damaged[4 + random() % (damaged.size() - 4)] = static_cast<char>(random());
      EXPECT_LE(inspect(damaged).status, 1);
    }
  }
}

TEST_F(DatasetCommands, InspectPrintsWhatIsAskedForHoweverFarItIs) {
  const auto shown = [&](const char* first) {
    return run_infeed({"inspect", shard(0), "--records", "10", "--show", "1", "--first", first})
        .out;
  };
  EXPECT_THAT(shown("90"), HasSubstr("Record 90 of"));
  EXPECT_THAT(shown("5000"), HasSubstr("There is no record 5,000: 100 were looked at"));
}

TEST_F(DatasetCommands, APipeThatWouldBeReadTwiceIsRefused) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"repair", pipe, "-o", folder_.file("saved")},
        std::vector<std::string>{"index", pipe},
        std::vector<std::string>{"reshard", pipe, "-o", folder_.file("other")}}) {
    const ProgramResult result = run_infeed(command);
    EXPECT_EQ(result.status, 1) << command.front();
    EXPECT_THAT(result.err, HasSubstr("it is a pipe or a device")) << command.front();
  }
}

TEST_F(DatasetCommands, ANameOfOtherFilesIsRefused) {
  const std::string other = folder_.file("other");
  for (const auto& [name, said] : std::vector<std::pair<std::string, std::string>>{
           {".x", "the dataset's name '.x' begins with a dot"},
           {"a/", "the dataset's name '' is empty"},
           {"a-00000-of-00002", "the dataset's name 'a-00000-of-00002' is one of a shard"}}) {
    const ProgramResult result =
        run_infeed({"convert", folder_.file("t.csv"), "-o", other, "--name", name});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(said));
    EXPECT_FALSE(fs::exists(other));
  }
}

TEST_F(DatasetCommands, OptionsOfAnInputNeedOne) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--kind", "csv"}, std::vector<std::string>{"--columns", "id"},
        std::vector<std::string>{"--no-header"}, std::vector<std::string>{"--decode-images"},
        std::vector<std::string>{"--rename", "label=y", "--images", "i", "--labels", "l"}}) {
    std::vector<std::string> command = {"convert", "-o", folder_.file("other")};
    command.insert(command.end(), options.begin(), options.end());
    const ProgramResult result = run_infeed(command);
    EXPECT_EQ(result.status, 1) << options.front();
    EXPECT_THAT(result.err, HasSubstr("no INPUT is named")) << options.front();
  }
}

}  // namespace
}  // namespace infeed::test
