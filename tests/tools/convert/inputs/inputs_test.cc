#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include <infeed/records/files.h>
#include <infeed/records/record_writer.h>

#include "matchers.h"
#include "records/filled_pipe.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/convert/inputs/npy_bytes.h"
#include "tools/folder_content.h"

/// Each kind of input of `infeed convert`, by the real program.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;

class Inputs : public ConversionTest {
 protected:
  Inputs() : ConversionTest("2") {}
};

TEST_F(Inputs, CsvInfersKindsAndKeepsWhatQuotesHold) {
  const std::string file = write("people.csv",
                                 "\xef\xbb\xbfname,age,height,postcode,note\r\n"
                                 "Ann,31,1.7,00812,\"a, \"\"b\"\"\"\r\n"
                                 "\r\n"
                                 "Bob,,2,10115,\"two\nlines\"\r\n"
                                 "5\" disk,-4,1e3,99999,");
  EXPECT_THAT(
      converted({file}),
      ElementsAre("age=[31] height=[1.7f] name=['Ann'] note=['a, \"b\"'] postcode=['00812']",
                  "height=[2f] name=['Bob'] note=['two\nlines'] postcode=['10115']",
                  "age=[-4] height=[1000f] name=['5\" disk'] postcode=['99999']"));
}

TEST_F(Inputs, CsvColumnsAreChosenRenamedAndTyped) {
  const std::string file = write("t.csv", "a,b,c\n1,2,3\n4,5,6\n");
  EXPECT_THAT(converted({"--columns", "c,a", "--rename", "a=first", file}),
              ElementsAre("c=[3] first=[1]", "c=[6] first=[4]"));
  const std::string schema = write("schema.json", R"({"columns": {"a": "bytes", "b": "floats"}})");
  EXPECT_THAT(converted({file, "--schema", schema}),
              ElementsAre("a=['1'] b=[2f] c=[3]", "a=['4'] b=[5f] c=[6]"));
  EXPECT_THAT(converted({file, "--no-header"}),
              ElementsAre("column1=['a'] column2=['b'] column3=['c']",
                          "column1=['1'] column2=['2'] column3=['3']",
                          "column1=['4'] column2=['5'] column3=['6']"));
  expect_failure({file, "--columns", "d"}, {"no column 'd'", "a, b, c"});
  expect_failure({file, "--rename", "a=b"}, {"same name", "b, b, c"});
  expect_failure({file, "--rename", "a"}, {"OLD=NEW", "'a'"});
  expect_failure({file, "--columns", "b", "--rename", "a=x"},
                 {"--rename gives 'a' the name 'x', but --columns leaves 'a' out"});
  expect_failure({file, "--rename", "a=x,a=y"}, {"--rename gives 'a' two names, 'x' and 'y'"});
  write("schema.json", R"({"columns": {"a": "int"}})");
  expect_failure({file, "--schema", schema}, {"\"int\"", "bytes, floats and integers"});
  write("schema.json", R"({"columns": {"z": "bytes"}})");
  expect_failure({file, "--schema", schema}, {"names a column 'z'", "a, b, c"});
  write("schema.json", "a: int");
  expect_failure({file, "--schema", schema}, {"a schema is JSON like"});
}

TEST_F(Inputs, BadRowsAreNamedAndCanBeLeftOut) {
  std::string text = "n,label\n";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{},{}\n", i, i % 3);
  text += "3000,1,extra\n3001,one\n3002,2\n";
  const std::string file = write("t.csv", text);
  expect_failure({file}, {"the row has 3 fields, but there are 2 columns", file,
                          "example t.csv line 3002 (row 3001) is bad", "--quarantine-max"});
  const ProgramResult result = convert({file, "--quarantine-max", "2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("left out 2 bad examples"), HasSubstr("t.csv line 3002 (row 3001): "),
                    HasSubstr("column 'label' has 'one', but takes integers")));
  const auto again = [&](const std::string& quarantine_max) {
    return run_infeed({"convert", file, "-o", folder_.file("out"), "--shards", "2",
                       "--quarantine-max", quarantine_max});
  };
  EXPECT_THAT(again("2").out,
              AllOf(HasSubstr("complete already"), HasSubstr("left out 2 bad examples")));
  const ProgramResult stricter = again("1");
  EXPECT_EQ(stricter.status, 1);
  EXPECT_THAT(stricter.err,
              HasSubstr("2 bad examples were left out of the dataset, but at most 1"));
  EXPECT_THAT(examples(), SizeIs(3001));
  EXPECT_THAT(read_whole(folder_.file("out/data.manifest.json")),
              HasSubstr("\"t.csv line 3003 (row 3002)\""));

  expect_failure({write("q.csv", "a,b\n1,\"open\n2,3\n")},
                 {"not closed", "all 2 lines up to there are one row", "q.csv"});
  expect_failure({write("q.csv", "a,b\n1,\"x\"y\n")}, {"closing quote stands 'y'"});
  expect_failure({write("e.csv", "")}, {"the table is empty"});
  const char* const lone = "a carriage return stands without a line feed";
  expect_failure({write("r.csv", "a,b\n1,2\n3\rx,4\n")}, {lone, "tr '\\r' '\\n'", "r.csv line 3"});
  expect_failure({write("r.csv", "a,b\n\"1\"\r\"2\",3\n")}, {lone, "r.csv line 2"});
  expect_failure({write("r.csv", "a,b\r1,2\r3,4\r")}, {lone, "r.csv"});
  expect_failure({write("r.tsv", "a\tb\n1\r\t2\n")}, {lone, "r.tsv line 2"});
  // The end of the file may stand for a line feed, and in quotes the carriage return is a
  // character.
  EXPECT_THAT(converted({write("r.csv", "a,b\r\n\"1\rx\",2\r")}), ElementsAre("a=['1\rx'] b=[2]"));
  expect_failure({write("d.csv", "a,a\n1,2\n")}, {"comes twice in the header"});
}

TEST_F(Inputs, TsvAndSeveralFiles) {
  write("a.tsv", "x\ty\n1\t\"q\n2\tr");
  write("b.tsv", "x\ty\n3\ts\n");
  EXPECT_THAT(converted({folder_.file("*.tsv")}),
              ElementsAre("x=[1] y=['\"q']", "x=[2] y=['r']", "x=[3] y=['s']"));
  write("b.tsv", "x\tz\n3\ts\n");
  expect_failure({folder_.file("*.tsv")}, {"its columns are x, z", "x, y"});
}

TEST_F(Inputs, JsonLinesAlsoGzipped) {
  const std::string file =
      write("l.jsonl", R"({"id": 1, "score": 1, "tags": ["a", "b"], "in": {"x": true}})"
                       "\n"
                       R"({"id": 2, "score": 0.5, "tags": [], "gone": null})"
                       "\n\n"
                       R"({"id": 3, "m": [[1, 2], [3, 4]], "text": "\u00fc"})");
  const std::vector<std::string> expected{"id=[1] in.x=[1] score=[1f] tags=['a', 'b']",
                                          "id=[2] score=[0.5f] tags=[]",
                                          "id=[3] m=[1, 2, 3, 4] text=['\xc3\xbc']"};
  EXPECT_THAT(converted({file}), ElementsAreArray(expected));
  shell("gzip l.jsonl");
  EXPECT_THAT(converted({file + ".gz"}), ElementsAreArray(expected));
  expect_failure({write("b.jsonl", "{\"a\": 1}\n[1]\n")},
                 {"no JSON object: '[1]'", "b.jsonl line 2 (row 2)"});
  expect_failure({write("b.jsonl", "{\"a\": [{}]}\n")}, {"a list with an object"});
  const std::string whole = read_whole(file + ".gz");
  expect_failure({write("cut.jsonl.gz", whole.substr(0, whole.size() - 9))},
                 {"data_loss", "cut.jsonl.gz", "the file ends inside it"});
}

TEST_F(Inputs, TextOfAnyShapeGivesTheSameRowsInAnyOrder) {
  // Rows from one byte to several read steps, so that every border lies inside some row.
  std::mt19937 random(3);
  std::string text = "n,text\n";
  constexpr int kRows = 700;
  for (int i = 0; i < kRows; ++i) {
    const std::size_t size = i % 100 == 7 ? 300'000 : random() % 200;
    const bool is_quoted = random() % 2 == 0;
    const std::string value(size, is_quoted ? '\n' : 'x');
    text += fmt::format("{},{}\n", i, is_quoted ? "\"" + value + "\"" : value);
  }
  const std::string file = write("t.csv", text);
  std::vector<std::string> plain = converted({file});
  ASSERT_THAT(plain, SizeIs(kRows));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_THAT(plain[static_cast<std::size_t>(i)], HasSubstr(fmt::format("n=[{}]", i)));
  }
  std::vector<std::string> shuffled = converted({file, "--seed", "1", "--threads", "3"});
  EXPECT_NE(shuffled, plain);
  std::sort(shuffled.begin(), shuffled.end());
  std::sort(plain.begin(), plain.end());
  EXPECT_EQ(shuffled, plain);
}

/// Writes version 1, as numpy.save does.
TEST_F(Inputs, NpyColumns) {
  const std::string images = write("image.npy", npy("|u1", "(3, 2, 2)", "abcdefghijkl"));
  const std::string labels =
      write("label.npy", npy("<i2", "(3,)", std::string("\1\0\xff\xff\0\1", 6)));
  const std::string names = write("name.npy", npy("|S3", "(3,)", std::string("onetwoxy\0", 9)));
  const std::string floats =
      write("f.npy", npy("<f4", "(3, 1)", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\0\xbf", 12)));
  EXPECT_THAT(converted({images, labels, names, floats}),
              ElementsAre("f=[1f] image=['abcd'] label=[1] name=['one']",
                          "f=[2f] image=['efgh'] label=[-1] name=['two']",
                          "f=[-0.5f] image=['ijkl'] label=[256] name=['xy']"));
  expect_failure({images, write("x.npy", npy("<i2", "(2,)", "abcd"))}, {"2 rows", "has 3"});
  expect_failure({write("x.npy", npy("<i2", "(3,)", "abcd"))}, {"3 rows of 1 values of 2 bytes"});
  expect_failure({write("x.npy", npy("<U2", "(1,)", std::string(8, 'a')))}, {"'<U2'", "astype"});
  expect_failure({write("x.npy", npy("<i2", "()", "ab"))}, {"single value"});
  expect_failure({write("x.npy", "no")}, {"no NPY file"});
  expect_failure({write("x.npy", npy("<u8", "(1,)", std::string(8, '\xff')))}, {"2^63"});
}

TEST_F(Inputs, ImageFolders) {
  write("photos/dog/2.png", "\x89PNG\r\n\x1a\nD2");
  write("photos/dog/1.JPG", "\xff\xd8\xff-D1");
  write("photos/cat/deep/7.gif", "GIF89a");
  write("photos/cat/notes.txt", "no image");
  write("photos/empty/readme", "");
  EXPECT_THAT(
      converted({folder_.file("photos"), "--trust-images"}),
      ElementsAre("class=['cat'] filename=['cat/deep/7.gif'] image=['GIF89a'] label=[0]",
                  "class=['dog'] filename=['dog/1.JPG'] image=['\xff\xd8\xff-D1'] label=[1]",
                  "class=['dog'] filename=['dog/2.png'] image=['\x89PNG\r\n\x1a\nD2'] label=[1]"));
  write("photos/dog/3.png", "cut");
  expect_failure({folder_.file("photos"), "--trust-images"},
                 {"don't begin like a JPEG", "dog/3.png"});
  EXPECT_THAT(converted({folder_.file("photos"), "--trust-images", "--quarantine-max", "1"}),
              SizeIs(3));
  expect_failure({folder_.file("photos/dog")}, {"no images were found", "a folder a class"});
  expect_failure({folder_.file("photos"), "--kind", "csv"}, {"is a folder"});
}

TEST_F(Inputs, TarsOfAllDialects) {
  const std::string long_name = std::string(80, 'n') + "/" + std::string(60, 'm');
  write("t/a/0.jpg", "J0");
  write("t/a/0.cls", "7\n");
  write("t/a/1.jpg", "J1");
  write("t/a/1.cls", "8");
  write("t/" + long_name + "/2.seg.png", std::string(1000, 's'));
  for (const std::string dialect : {"ustar", "pax", "gnu", "v7"}) {
    if (dialect == "v7") fs::remove_all(folder_.file("t/" + std::string(80, 'n')));
    shell(fmt::format("tar --format={} --sort=name -cf t.tar -C t .", dialect));
    std::vector<std::string> expected{"__key__=['a/0'] cls=[7] jpg=['J0']",
                                      "__key__=['a/1'] cls=[8] jpg=['J1']"};
    if (dialect != "v7") {
      expected.push_back(
          fmt::format("__key__=['{}/2'] seg.png=['{}']", long_name, std::string(1000, 's')));
    }
    EXPECT_THAT(converted({folder_.file("t.tar"), "--trust-images"}), ElementsAreArray(expected))
        << dialect;
    shell("gzip -f t.tar");
    EXPECT_THAT(converted({folder_.file("t.tar.gz"), "--trust-images"}), ElementsAreArray(expected))
        << dialect;
  }
}

TEST_F(Inputs, DamagedTars) {
  write("t/0.txt", "zero");
  write("t/1.cls", "one");
  shell("tar -cf t.tar -C t 0.txt 1.cls");
  const std::string whole = read_whole(folder_.file("t.tar"));
  expect_failure({folder_.file("t.tar")}, {"'1.cls' has 'one'"});
  EXPECT_THAT(converted({folder_.file("t.tar"), "--quarantine-max", "1"}),
              ElementsAre("__key__=['0'] txt=['zero']"));
  expect_failure({write("c.tar", whole.substr(0, 700))},
                 {"cut", "without its end mark", "offset 700"});
  std::string damaged = whole;
  damaged[1024 + 5] = '!';
  expect_failure({write("c.tar", damaged)}, {"header is damaged", "offset 1024"});
  expect_failure({write("c.tar", whole.substr(0, 514))}, {"a member of 4 bytes", "2 are left"});
  expect_failure({write("c.tar", std::string(2000, 'x'))}, {"this is no tar file"});
  expect_failure({write("c.tar", "")}, {"empty"});
  // Any single damage gives an error or data, never a crash.
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    damaged = whole.substr(0, 2048);
    damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_LE(convert({write("c.tar", damaged), "--quarantine-max", "9"}).status, 1);
  }
}

TEST_F(Inputs, RecordsPassThroughAsTheyAre) {
  std::vector<std::string> expected;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const std::string file =
        folder_.file(fmt::format("in-0000{}-of-00003.tfrecord", expected.size() / 10));
    RecordWriter writer(file, {.compression = compression});
    for (int i = 0; i < 10; ++i) {
      // Not sorted by name, which our encoder would never write.
      const std::string example = ExampleBuilder().integers("n", i).encode();
      const std::string twice = ExampleBuilder().bytes("a", "x").encode();
      writer.write(example + twice);
      expected.push_back(fmt::format("a=['x'] n=[{}]", i));
    }
    writer.close();
  }
  EXPECT_THAT(converted({folder_.file("in-*")}), ElementsAreArray(expected));
  EXPECT_THAT(converted({folder_.file("in-*"), "--columns", "n"}), SizeIs(30));
  EXPECT_THAT(convert({folder_.file("in-*"), "--compression", "gzip"}).status, 0);
  EXPECT_THAT(example_texts(match_files(folder_.file("out/data-*.tfrecord.gz"))),
              ElementsAreArray(expected));
  const std::string bytes = read_whole(folder_.file("in-00000-of-00003.tfrecord"));
  expect_failure({write("cut.tfrecord", bytes.substr(0, 100))},
                 {"data_loss", "cut.tfrecord", "infeed repair"});
  RecordWriter raw(folder_.file("raw.tfrecord"));
  raw.write("no example");
  raw.close();
  EXPECT_EQ(convert({folder_.file("raw.tfrecord")}).status, 0);
  EXPECT_THAT(read_whole(folder_.file("out/data.manifest.json")),
              HasSubstr("\"opaque_records\": 1"));
}

TEST_F(Inputs, AllFilesOfADatasetMeanItsRecords) {
  ASSERT_EQ(convert({write("t.csv", "a\n1\n2\n")}).status, 0);
  const std::string all = folder_.file("out/data-*");
  EXPECT_EQ(match_files(all).size(), 4) << "with an index each";
  const ProgramResult result = run_infeed({"reshard", all, "-o", folder_.file("new")});
  EXPECT_THAT(result.out, HasSubstr("2 records of 2 files")) << result.err;
  EXPECT_THAT(run_infeed({"inspect", all}).out, HasSubstr("all 2 records"));
  EXPECT_EQ(run_infeed({"verify", all}).status, 0);
  EXPECT_EQ(run_infeed({"index", all}).status, 0);
  EXPECT_THAT(run_infeed({"inspect", folder_.file("out/*")}).out, HasSubstr("all 2 records"))
      << "without the manifest";
}

TEST_F(Inputs, NoFolderForTheDecompressedCopy) {
  write("t.csv", "a\n1\n");
  shell("gzip t.csv");
  const ProgramResult result = run_infeed({"convert", folder_.file("t.csv.gz"), "-o", "x"},
                                          {.environment = {{"TMPDIR", folder_.file("none")}}});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("set TMPDIR to one with room"), HasSubstr("t.csv.gz")));
}

TEST_F(Inputs, MoreFilesThanMayUsuallyBeOpen) {
  std::string names;
  for (int i = 0; i < 60; ++i) names += " " + write(fmt::format("t{:02}.csv", i), "a\n1\n");
  shell(fmt::format("ulimit -Sn 40 && {} convert {} -o out --shards 2", INFEED_COMMAND, names));
  EXPECT_THAT(examples(), SizeIs(60));
}

TEST_F(Inputs, CtrlCWhileTheInputIsReadEndsAtOnce) {
  const std::string pipe = folder_.file("t.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const char* const kind : {"csv", "files"}) {
    int writer = -1;  // which says nothing
    const auto is_waited_for = [&] {
      writer = writer < 0 ? ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK) : writer;
      return writer >= 0;
    };
    const ProgramResult result =
        run_infeed({"convert", pipe, "--kind", kind, "-o", folder_.file("out")},
                   {.send_signal_when = is_waited_for, .signal = SIGINT});
    ::close(writer);
    EXPECT_EQ(result.status, 130);
    EXPECT_LT(result.seconds_after_signal, kSoonSeconds);
    EXPECT_THAT(result.err, HasSubstr("stopped while the input was read"));
    EXPECT_FALSE(fs::exists(folder_.file("out")));
  }
}

/// It was read to choose a number of shards, and then waited for again, for ever.
TEST_F(Inputs, APipeIsReadOnce) {
  for (const std::vector<std::string>& chosen :
       {std::vector<std::string>{}, std::vector<std::string>{"--shards", "1"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(chosen, " ")));
    const TemporaryFolder folder;
    const FilledPipe pipe(folder, "pipe", "all of it");
    std::vector<std::string> words{"convert",           "--kind",     "files", pipe.name(), "-o",
                                   folder_.file("out"), "--overwrite"};
    words.insert(words.end(), chosen.begin(), chosen.end());
    output_of(run_infeed(words));
    EXPECT_THAT(examples(), ElementsAre("content=['all of it'] filename=['pipe']"));
  }
}

TEST_F(Inputs, ADatasetIsNotConvertedOntoItself) {
  const std::string file = write("t.csv", "a\n1\n2\n");
  ASSERT_EQ(convert({file}).status, 0);
  const auto before = folder_content(folder_.file("out"));
  expect_failure({folder_.file("out/data-*.tfrecord"), "--compression", "gzip"},
                 {"has the name of a shard that would be written", "--name"});
  EXPECT_EQ(difference(before, folder_content(folder_.file("out"))), "");
  EXPECT_EQ(convert({folder_.file("out/data-*.tfrecord"), "--name", "other"}).status, 0);
}

TEST_F(Inputs, PlainFilesAndWhatCantBeTold) {
  const std::string a = write("a.bin", "A");
  const std::string b = write("b.bin", std::string("B\0", 2));
  EXPECT_THAT(converted({a, b, "--kind", "files"}),
              ElementsAre("content=['A'] filename=['a.bin']",
                          std::string("content=['B\0'] filename=['b.bin']", 33)));
  // Names of files beside record files mean nothing among others.
  write("a.bin.index", "C");
  EXPECT_THAT(
      converted({folder_.file("a.bin*"), "--kind", "files"}),
      ElementsAre("content=['A'] filename=['a.bin']", "content=['C'] filename=['a.bin.index']"));
  expect_failure({a}, {"a.bin", "--kind", "csv, tsv, jsonl"});
  expect_failure({write("x.csv", "a\n1\n"), write("y.jsonl", "{}")}, {"seems to be csv", "jsonl"});
  expect_failure({folder_.file("none.csv")}, {"not_found", "none.csv"});
  const ProgramResult unknown = run_infeed({"convert", a, "--kind", "xml", "-o", "x"});
  EXPECT_EQ(unknown.status, 2);
}

}  // namespace
}  // namespace infeed::test
