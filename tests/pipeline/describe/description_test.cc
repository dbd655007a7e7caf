#include "infeed/describe/description.h"

#include <set>

#include <infeed/infeed.h>
#include <infeed/keep_rows.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/describe/data_files.h"
#include "temporary_folder.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using describe::Description;

/// One pipeline, or more, for each kind of stage. @ is the folder of the files.
std::vector<std::string> pipelines() {
  const std::string records = R"({"stage": "records", "files": "@/*.tfrecord"})";
  const std::string range = R"({"stage": "range", "stop": 23})";
  const std::string batch = R"({"stage": "batch", "size": 4})";
  const std::string rows = records + "," + kParse + "," + batch;
  const std::string csv = R"({"stage": "csv", "files": "@/table.csv"})";
  const std::string json_lines =
      R"({"stage": "json_lines", "files": ["@/rows.jsonl"], "columns": [
          {"name": "id", "dtype": "int64"},
          {"name": "tokens", "kind": "ragged", "dtype": "int32"}]})";
  return {
      records,
      records + R"(, {"stage": "parse"},)" + batch,
      records + R"(, {"stage": "parse", "keep_rows": true},)" + batch,
      R"({"stage": "records", "files": ["@/a.tfrecord"], "verify": "lengths", "parallelism": 1},)" +
          batch,
      R"({"stage": "indexed_records", "files": "@/*.tfrecord", "without_index": "scan"},
         {"stage": "global_shuffle", "seed": 3},)" +
          std::string(kParse) + "," + batch,
      R"({"stage": "lines", "files": "@/lines.txt"}, {"stage": "shuffle", "buffer": 3, "seed": 1})",
      R"({"stage": "fixed_length_records", "files": "@/pairs.bin", "record_bytes": 2},)" + batch,
      csv + R"(, {"stage": "batch", "size": 2})",
      csv + R"(, {"stage": "shuffle", "buffer": 4, "seed": 1}, {"stage": "batch", "size": 2})",
      json_lines + R"(, {"stage": "batch", "size": 2})",
      json_lines + R"(, {"stage": "padded_batch", "size": 2, "padding": -1})",
      R"({"stage": "npy", "files": "@/ids.npy", "column": "id"}, {"stage": "batch", "size": 2})",
      R"({"stage": "npz", "files": "@/ids.npz"}, {"stage": "skip", "count": 1}, )" + batch,
      R"({"stage": "folder", "folder": "@/classes", "parallelism": 1}, )" + batch,
      R"({"stage": "tar", "files": "@/samples.tar"},
         {"stage": "batch", "size": 1, "fields": ["txt", "cls"]})",
      range + R"(, {"stage": "take", "count": 20}, {"stage": "skip", "count": 2})",
      R"({"stage": "counter", "start": 5, "step": 2}, {"stage": "take", "count": 9})",
      R"({"stage": "random_integers", "seed": 5}, {"stage": "take", "count": 9})",
      R"({"stage": "files", "files": "@/*.tfrecord", "shuffle": true, "seed": 1})",
      R"({"stage": "files", "files": "@/*.tfrecord"},
         {"stage": "interleave", "each": [{"stage": "records"}, {"stage": "take", "count": 7}],
          "cycle_length": 2, "parallelism": 1},)" +
          std::string(kParse) + "," + batch,
      rows + R"(, {"stage": "unbatch"}, {"stage": "shuffle", "buffer": 9, "seed": 1}, )" + batch,
      rows + R"(, {"stage": "rebatch", "sizes": [3, 2]}, {"stage": "prefetch", "depth": 2})",
      records + "," + kParse + R"(, {"stage": "padded_batch", "size": 5, "width": 3})",
      rows + R"(, {"stage": "select", "columns": ["tokens"]}, {"stage": "pack", "rows": 2,
                 "length": 8, "columns": [{"name": "tokens", "padding": -1}]})",
      rows + R"(, {"stage": "cast", "column": "id", "dtype": "float32"},
                 {"stage": "normalise", "column": "id", "mean": [3], "deviation": [2]},
                 {"stage": "rename", "from_name": "id", "to_name": "number"})",
      rows + R"(, {"stage": "features", "steps": [
                 {"name": "hash_buckets", "column": "id", "buckets": 7, "to": "bucket"}]})",
      range + R"(, {"stage": "shuffle", "buffer": "whole_input", "seed": 2},
                  {"stage": "repeat", "count": 2}, {"stage": "shard", "count": 3, "index": 1})",
      range + R"(, {"stage": "assert_cardinality", "count": 23}, {"stage": "skip_errors"})",
      range + R"(, {"stage": "cache"}, {"stage": "repeat", "count": 2},
                  {"stage": "optional_cache"})",
      range + R"(, {"stage": "cache", "path": "@/cache", "mismatch": "rewrite"})",
      range + R"(, {"stage": "snapshot", "path": "@/snapshots"})",
      range + R"(, {"stage": "concatenate", "inputs": [[)" + range + "]]}",
      rows + R"(, {"stage": "select", "columns": ["id"]}, {"stage": "zip", "inputs": [[)" + rows +
          R"(, {"stage": "select", "columns": ["tokens"]}]]})",
      R"({"stage": "sample_from_datasets", "inputs": [[)" + range + "], [" + range +
          R"(]], "weights": [0.7, 0.3], "seed": 4})",
      R"({"stage": "sample_from_datasets", "inputs": [[)" + rows + "], [" + rows +
          R"(]], "weights": [1, 0], "schedule": [{"draw": 5, "weights": [0.5, 0.5]}],
             "change": "at_once", "weigh_by": "items", "column": "tokens", "seed": 4})",
      R"({"stage": "choose_from_datasets", "inputs": [[)" + range + "], [" + range +
          R"(], [{"stage": "range", "stop": 2}, {"stage": "repeat"}]]})",
      R"({"stage": "records", "files": "@/*.tfrecord", "url": {"retries": 9, "ca_file": "x"}},
         {"stage": "leave_out", "rows": [{"file": "@/a.tfrecord", "record": 3}],
          "instead": {"id": 7, "tokens": [1, 2], "text": "none", "weight": 0.0}},)" +
          std::string(kParse) + "," + batch,
      R"({"stage": "npy_columns", "columns": {"x": "@/ids.npy", "y": "@/ids.npy"}},)" + batch,
      R"({"stage": "read_snapshot", "path": "@/written"}, {"stage": "take", "count": 7})",
      records + "," + kParse + R"(, {"stage": "window", "size": 3, "shift": 2, "stride": 2})",
      records + "," + kParse + R"(, {"stage": "enumerate", "start": 5}, )" + batch,
      rows + R"(, {"stage": "enumerate", "column": "number"})",
      records + "," + kParse + R"(, {"stage": "bucket_by_sequence_length", "column": "tokens",
                 "boundaries": [2], "batch_sizes": [3, 2], "padding": -1})",
      json_lines + R"(, {"stage": "bucket_by_sequence_length", "column": "tokens",
                 "boundaries": [1, 5], "batch_sizes": [1, 1, 1], "pad_to_boundary": true})",
      range + R"(, {"stage": "repeat", "count": 2}, {"stage": "unique"})",
      csv + R"(, {"stage": "repeat", "count": 2}, {"stage": "unique"}, )" + batch,
  };
}

/// Records, parsed into batches.
std::string rows() {
  return R"({"stage": "records", "files": "@/a.tfrecord"}, )" + std::string(kParse) +
         R"(, {"stage": "batch", "size": 4})";
}

class Descriptions : public ::testing::Test {
 protected:
  Description of(const std::string& stages) const { return described(files_.with_folder(stages)); }

  const DataFiles files_;
};

/// Compares elements of all types by their content.
struct SameContent {
  bool operator()(const Record& a, const Record& b) const { return a.bytes() == b.bytes(); }
  bool operator()(const LabeledFile& a, const LabeledFile& b) const { return a.name == b.name; }
  bool operator()(const TarSample& a, const TarSample& b) const { return a.key == b.key; }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};

TEST_F(Descriptions, HaveOneTextAndComeBackFromIt) {
  for (const std::string& stages : pipelines()) {
    SCOPED_TRACE(stages);
    const Description description = of(stages);
    const Description again = Description::from_json(description.to_json(), native_table());
    EXPECT_EQ(again, description);
    EXPECT_EQ(again.to_json(), description.to_json());
    EXPECT_EQ(again.text(), description.text());
  }
}

TEST_F(Descriptions, ResumeAtEachElement) {
  for (const std::string& stages : pipelines()) {
    SCOPED_TRACE(stages);
    const auto check = [&]<class T>(const Dataset<T>&) {
      const auto report = testing::expect_equal_after_resume(
          [&] { return std::get<Dataset<T>>(of(stages).elements().dataset); }, {}, SameContent());
      EXPECT_GT(report.elements, 0u);
      EXPECT_EQ(report.errors, 0u);
    };
    std::visit(check, of(stages).elements().dataset);
  }
}

TEST_F(Descriptions, KnowTheColumnsThatTheirBatchesHave) {
  for (const std::string& stages : pipelines()) {
    SCOPED_TRACE(stages);
    const Description description = of(stages);
    const auto* batches = std::get_if<Dataset<ColumnBatch>>(&description.elements().dataset);
    if (batches == nullptr || !description.elements().columns) continue;
    const ColumnBatch batch = *batches->iterate().next();
    const auto& types = description.elements().columns->columns();
    ASSERT_EQ(batch.names().size(), types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      EXPECT_EQ(batch.names()[i], types[i].name);
      EXPECT_EQ(batch.columns()[i].kind(), types[i].kind);
      EXPECT_EQ(batch.columns()[i].dtype(), types[i].dtype);
    }
  }
}

TEST_F(Descriptions, AreTestedForEachKindOfStage) {
  const auto table = native_table();
  std::set<std::string> missing;
  for (const auto& kind : table->kinds()) missing.insert(kind->name);
  for (const char* image : {"random_resized_crop", "central_crop"}) missing.erase(image);
  for (const std::string& stages : pipelines()) {
    const std::string json = of(stages).to_json();
    std::erase_if(missing, [&](const std::string& name) {
      return json.find("\"stage\":\"" + name + "\"") != json.npos;
    });
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST_F(Descriptions, AreListedInTheReadme) {
  const std::string readme = read_whole(INFEED_DESCRIBE_README);
  const auto table = native_table();
  for (const auto& kind : table->kinds()) {
    const std::size_t begin = readme.find("\n| `" + kind->name + "` | " + kind->doc + " |");
    ASSERT_NE(begin, readme.npos) << "pipeline/describe/README.md doesn't list " << kind->name;
    const std::string line = readme.substr(begin, readme.find('\n', begin + 1) - begin);
    for (const describe::StageOption& option : kind->options) {
      if (option.name == "name") continue;
      EXPECT_THAT(line, HasSubstr("`" + option.name + "`"));
    }
  }
}

TEST_F(Descriptions, OfTheReadmeAreRead) {
  const std::string readme = read_whole(INFEED_DESCRIBE_README);
  const std::string marker = "<!-- json: pipeline -->\n```json\n";
  const std::size_t begin = readme.find(marker) + marker.size();
  std::string json = readme.substr(begin, readme.find("```", begin) - begin);
  json.replace(json.find("train-*"), 7, files_.file("*"));
  const Description shown = Description::from_json(json, native_table());
  EXPECT_EQ(Description::from_json(shown.to_json(), native_table()), shown);
  (void)shown.elements().batches("the README");
}

TEST_F(Descriptions, EqualTheSamePipelineInCpp) {
  const Description description =
      of(R"({"stage": "records", "files": "@/*.tfrecord"},
            {"stage": "shuffle", "buffer": 10, "seed": 42}, {"stage": "repeat", "count": 2},)" +
         std::string(kParse) + R"(, {"stage": "batch", "size": 8}, {"stage": "prefetch"})");
  const auto in_cpp =
      records(files_.file("*.tfrecord")) | shuffle({.buffer = 10, .seed = 42}) | repeat(2) |
      parse_columns(ColumnSchema().column("id", DType::int64).ragged("tokens", DType::int32), 8) |
      prefetch();
  EXPECT_EQ(description.fingerprint(), describe::fingerprint_of(*in_cpp.node()));
  EXPECT_EQ(description.elements().batches("test").collect(), in_cpp.collect());

  // A checkpoint of one goes on with the other.
  auto iterator = in_cpp.iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  auto resumed = description.elements().batches("test").iterate({.resume = iterator.checkpoint()});
  while (const auto batch = iterator.next()) EXPECT_EQ(resumed.next(), batch);
  EXPECT_FALSE(resumed.next());
}

TEST_F(Descriptions, KeepTheRowsOfBadRecordsAsInCpp) {
  const auto kept = std::make_shared<KeptRows>(ColumnSchema().column("id", DType::int64));
  const auto in_cpp = records(files_.file("a.tfrecord")) |
                      leave_out({{.file = files_.file("a.tfrecord"), .record = 3}}) |
                      keep_rows(kept, 8);
  const Description description = of(R"({"stage": "records", "files": "@/a.tfrecord"},
      {"stage": "leave_out", "rows": [["@/a.tfrecord", 3]]},
      {"stage": "parse", "columns": [{"name": "id", "dtype": "int64"}], "keep_rows": true},
      {"stage": "batch", "size": 8})");
  EXPECT_EQ(description.fingerprint(), describe::fingerprint_of(*in_cpp.node()));
  TakenBadRows taken(description.bad_rows());
  auto iterator = description.elements().batches("test").iterate();
  while (const auto batch = iterator.next()) taken.take(*batch);
  ASSERT_EQ(taken.sorted().size(), 1);
  // The record that stands in has no place.
  EXPECT_THAT(taken.sorted()[0].reason, HasSubstr("'id'"));
  EXPECT_EQ(of(R"({"stage": "range", "stop": 3})").bad_rows(), nullptr);
}

TEST_F(Descriptions, LeaveOutDefaultsAndPrintTheRest) {
  const Description description = of(R"({"stage": "range", "stop": 10, "start": 0, "step": 1},
            {"stage": "shuffle", "seed": 1, "buffer": 5, "reshuffle_each_iteration": true},
            {"stage": "batch", "size": 2, "parallelism": "autotune"})");
  EXPECT_EQ(description.text(), "range(stop=10) | shuffle(buffer=5, seed=1) | batch(size=2)");
  EXPECT_EQ(description, of(R"({"stage": "range", "stop": 10},
                               {"stage": "shuffle", "buffer": 5, "seed": 1},
                               {"stage": "batch", "size": 2})"));
  EXPECT_NE(description.fingerprint(), of(R"({"stage": "range", "stop": 10})").fingerprint());
}

TEST_F(Descriptions, NameThePlaceOfAMistake) {
  const std::string range = R"({"stage": "range", "stop": 5})";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {R"({"stage": "rang", "stop": 5})",
       "$.stages[0].stage is 'rang', which is no stage; did you mean 'range'?"},
      {range + R"(, {"stage": "shuffle", "bufer": 5})",
       "shuffle has no option 'bufer' ($.stages[1].bufer); did you mean 'buffer'?"},
      {range + R"(, {"stage": "shuffle"})", "$.stages[1] has no \"buffer\""},
      {range + R"(, {"stage": "shuffle", "buffer": "x"})",
       "$.stages[1].buffer is \"x\"; it must be a whole number"},
      {range + R"(, {"stage": "shuffle", "buffer": 0})", "$.stages[1]: "},
      {range + R"(, {"stage": "prefetch", "depth": -3})",
       "$.stages[1].depth is -3; it must be a whole number of 0 or more, or \"autotune\""},
      {range + R"(, {"stage": "concatenate", "inputs": [[{"stage": "range", "stop": "a"}]]})",
       "$.stages[1].inputs[0][0].stop is \"a\"; it must be a whole number"},
      {range + R"(, {"stage": "concatenate"})", "$.stages[1]: concatenate needs \"inputs\""},
      {range + R"(, {"stage": "take", "count": 1, "inputs": [[)" + range + "]]}",
       "$.stages[1]: take takes no \"inputs\""},
      {R"({"stage": "take", "count": 5})", "$.stages[0]: take needs an input"},
      {range + "," + range, "$.stages[1]: range begins a pipeline"},
      {range + "," + kParse, "$.stages[1]: parse: it takes records"},
      {range + R"(, {"stage": "unbatch"})", "$.stages[1]: unbatch takes batches"},
      {R"({"stage": "records", "files": "@/none-*"})", "$.stages[0]: "},
      {R"({"stage": "records", "files": "@/a.tfrecord", "verify": "some"})",
       "$.stages[0].verify is \"some\"; it must be one of \"everything\", \"lengths\""},
      {R"({"stage": "records", "files": "@/a.tfrecord"},
          {"stage": "parse", "columns": [{"name": "id", "dtype": "int65"}]})",
       "$.stages[1].columns[0].dtype is 'int65'"},
      {R"({"stage": "files", "files": "@/*.tfrecord"},
          {"stage": "interleave", "each": [{"stage": "records", "files": "x"}]})",
       "$.stages[1].each[0].files is set"},
      {R"({"stage": "files", "files": "@/*.tfrecord"},
          {"stage": "interleave", "each": [{"stage": 7}]})",
       "$.stages[1].each[0] is {\"stage\":7"},
      {R"({"stage": "files", "files": "@/*.tfrecord"},
          {"stage": "interleave", "each": [{"stage": "records"}, {"stage": "shufle"}]})",
       "$.stages[1]: $.stages[1].each[1].stage is 'shufle', which is no stage; did you mean"},
      {rows() + R"(, {"stage": "window", "size": 2})",
       "$.stages[3]: window takes single elements, but its input gives batches"},
      {rows() + R"(, {"stage": "zip", "inputs": [[)" + rows() + "]]}",
       "$.stages[3]: zip: two sides have a column 'id'; rename it in one of them"},
      {range + R"(, {"stage": "leave_out", "rows": []})",
       "$.stages[1]: leave_out: it takes records"},
      {R"({"stage": "records", "files": "@/a.tfrecord"}, {"stage": "leave_out", "rows": [7]})",
       "$.stages[1].rows[0] is 7; it must be a record"},
      {R"({"stage": "records", "files": "@/a.tfrecord"},
          {"stage": "leave_out", "rows": [["a", 1]], "instead": {"x": [true]}})",
       "$.stages[1].instead.x is [true]; it must be numbers or texts"},
      {R"({"stage": "lines", "files": "@/lines.txt", "url": {"retris": 3}})",
       "$.stages[0].url.retris is no option of reading by URL; did you mean 'retries'?"},
      {R"({"stage": "lines", "files": "@/lines.txt", "url": {"retries": -3}})",
       "$.stages[0].url.retries is -3; it must be a whole number of 0 or more"},
      {R"({"stage": "sample_from_datasets", "weigh_by": "rows", "inputs": [[)" + range + "]]}",
       "$.stages[0]: sample_from_datasets: elements of the kind 'integer' have no rows"},
      {R"({"stage": "sample_from_datasets", "column": "x", "inputs": [[)" + range + "]]}",
       "belong together"},
      {R"({"stage": "sample_from_datasets", "schedule": [3], "inputs": [[)" + range + "]]}",
       "$.stages[0].schedule[0] is 3"},
      {R"({"stage": "choose_from_datasets", "inputs": [[)" + range + "]]}",
       "$.stages[0]: choose_from_datasets: the last of its inputs gives the choices"},
      {R"({"stage": "read_snapshot", "path": "@/classes"})", "there is no snapshot here"},
      {R"({"stage": "npy_columns", "columns": ["x.npy"]})",
       "it must be files by column, as {\"x\": \"x.npy\"}"},
      {"7", "$.stages[0] is 7"},
      {"", "$.stages is []"},
  };
  for (const auto& [stages, message] : mistakes) {
    SCOPED_TRACE(stages);
    const std::string json = "{\"stages\": [" + files_.with_folder(stages) + "]}";
    EXPECT_THAT(error_of([&] { Description::from_json(json, native_table()); }).message(),
                HasSubstr(message));
  }
  for (const auto& [json, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "the pipeline is no JSON"},
           {"[]", "$ is []; it must be an object"},
           {"{\"stages\": [],\n\"stages\": []}",
            "the pipeline gives \"stages\" twice in one "
            "object (the second one in line 2)"},
           {R"({"stage": []})", "the pipeline has no option 'stage' ($.stage)"}}) {
    EXPECT_THAT(
        error_of([&, text = json] { Description::from_json(text, native_table()); }).message(),
        HasSubstr(message));
  }
}

TEST_F(Descriptions, HoldObjectsBesideTheirText) {
  struct ObjectStage {
    describe::ObjectId object = {};
  };
  describe::StageTable table = describe::native_stages();
  table.add("numbers", "Gives a list.", ObjectStage{}, describe::StageRole::source)
      .required("list", &ObjectStage::object, "The list.")
      .makes([](const ObjectStage& stage, const describe::Making& making) {
        return describe::Elements{slices(
            *std::static_pointer_cast<std::vector<std::int64_t>>(making.object(stage.object)))};
      });
  const auto shared = std::make_shared<const describe::StageTable>(std::move(table));
  const auto list = std::make_shared<std::vector<std::int64_t>>(3, 7);
  const Description description =
      Description(shared)
          .then("numbers", R"({"list": {"object": "mine"}})", {}, {{"mine", list}})
          .then("take", R"({"count": 2})");
  EXPECT_EQ(std::get<Dataset<std::int64_t>>(description.elements().dataset).count(), 2u);
  EXPECT_EQ(error_of([&] { description.to_json(); }).code(), ErrorCode::failed_precondition);
  const std::string text = description.to_json(true);
  EXPECT_EQ(Description::from_json(text, shared, description.objects()), description);
  EXPECT_THAT(error_of([&] { Description::from_json(text, shared); }).message(),
              HasSubstr("the function 'mine' isn't here"));
}

}  // namespace
}  // namespace infeed::test
