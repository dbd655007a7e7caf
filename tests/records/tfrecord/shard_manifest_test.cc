#include <fmt/format.h>

#include <infeed/records/crc32c.h>
#include <infeed/records/shard_manifest.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

/// Two shards of 100 and 90 examples.
std::string two_shards(const std::string& set) {
  const ManifestShard first{
      set + "-00000-of-00002.tfrecord", {2400, 0xdeadbeef}, 100, SideFile{".index", {836, 7}}};
  const ManifestShard second{set + "-00001-of-00002.tfrecord", {2160, 1}, 90, std::nullopt};
  return seal_manifest("{\"shards\": [" + to_json(first) + ", " + to_json(second) +
                       "], \"plan\": {}}");
}

TEST(ShardManifest, is_read_as_it_was_written) {
  const TemporaryFolder folder;
  const auto file = folder.write("train.manifest.json", two_shards("train"));
  const ShardManifest manifest = read_shard_manifest(file);
  ASSERT_EQ(manifest.shards.size(), 2U);
  EXPECT_EQ(manifest.shards[0].file, "train-00000-of-00002.tfrecord");
  EXPECT_EQ(manifest.shards[0].sum, (FileSum{2400, 0xdeadbeef}));
  EXPECT_EQ(manifest.shards[0].examples, 100U);
  EXPECT_EQ(manifest.shards[0].side_file, (SideFile{".index", {836, 7}}));
  EXPECT_EQ(manifest.shards[1].side_file, std::nullopt);
  EXPECT_THAT(manifest.json, HasSubstr("\"plan\":{}"));
}

TEST(ShardManifest, golden_text_of_a_shard) {
  const ManifestShard shard{"a.tfrecord", {24, 0xab}, 1, SideFile{".points", {8, 9}}};
  EXPECT_EQ(to_json(shard), R"({"bytes":24,"crc32c":"000000ab","examples":1,"file":"a.tfrecord",)"
                            R"("points":{"bytes":8,"crc32c":"00000009"}})");
  EXPECT_EQ(to_json(parse_manifest_shard(to_json(shard))), to_json(shard));
  EXPECT_EQ(error_of([] { parse_manifest_shard("{}"); }).message(),
            "'{}' describes no shard of a manifest");
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(error_of([&] { parse_manifest_shard(deep); }).message(),
            "'" + deep + "' describes no shard of a manifest");
}

// The parser's own conversion makes an integer of any of them.
TEST(ShardManifest, numbers_are_whole_and_in_range) {
  const TemporaryFolder folder;
  for (const std::string number : {"3e57", "-1", "1.5", "18446744073709551616", "\"7\"", "null"}) {
    const std::string shard =
        R"({"bytes": )" + number + R"(, "crc32c": "1", "examples": 1, "file": "a.tfrecord"})";
    EXPECT_EQ(error_of([&] { parse_manifest_shard(shard); }).code(), ErrorCode::data_loss)
        << number;
    const auto file = folder.write("x", seal_manifest("{\"shards\": [" + shard + "]}"));
    EXPECT_EQ(error_of([&] { read_shard_manifest(file); }).code(), ErrorCode::data_loss) << number;
  }
}

/// Recursive calls free 400,000 levels, which is more than a stack holds.
TEST(ShardManifest, depth_is_limited_before_the_checksum_is_looked_at) {
  const TemporaryFolder folder;
  const std::string deep =
      R"({"plan": )" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
  const Error error = error_of([&] { read_shard_manifest(folder.write("x", deep)); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(
      error.message(),
      "the manifest is damaged: objects and arrays lie more than 100 deep in each other, or have "
      "millions of values");
}

TEST(ShardManifest, every_change_is_noticed) {
  const TemporaryFolder folder;
  const std::string good = two_shards("train");
  for (std::size_t i = 0; i + 1 < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '7' ? '8' : '7';
    if (good[i] == ' ' || good[i] == '\n') continue;  // a change that JSON may not show
    const Error error = error_of([&] { read_shard_manifest(folder.write("x", bad)); });
    EXPECT_TRUE(error.code() == ErrorCode::data_loss ||
                error.code() == ErrorCode::failed_precondition)
        << error.what();
  }
  EXPECT_THAT(error_of([&] { read_shard_manifest(folder.write("x", good.substr(0, 99))); }).what(),
              HasSubstr("the manifest is damaged"));
  EXPECT_EQ(error_of([&] { read_shard_manifest(folder.write("x", "{\"format\": 3}")); }).message(),
            "this is no manifest of infeed: its \"format\" is 3, and 'infeed-manifest 1' was "
            "expected; give the manifest that infeed convert wrote");
  EXPECT_EQ(error_of([&] { read_shard_manifest(folder.file("none")); }).code(),
            ErrorCode::not_found);
}

TEST(ShardManifest, of_another_version_or_none_says_so) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, ErrorCode code) {
    const auto file = folder.write("x", text);
    const Error error = error_of([&] { read_shard_manifest(file); });
    EXPECT_EQ(error.code(), code) << text;
    EXPECT_EQ(error.file(), file);
    return error.message();
  };
  EXPECT_EQ(refused(R"({"format": "infeed-manifest 2"})", ErrorCode::failed_precondition),
            "the manifest has format version 2, and this infeed knows versions up to 1; use the "
            "infeed that wrote it, or a newer one, or make the dataset anew");
  for (const std::string format : {"\"infeed-manifest 0\"", "\"other 1\"", "null"}) {
    EXPECT_THAT(
        refused("{\"format\": " + format + "}", ErrorCode::failed_precondition),
        HasSubstr("its \"format\" is " + format + ", and 'infeed-manifest 1' was expected"));
  }
  EXPECT_THAT(refused("{}", ErrorCode::failed_precondition), HasSubstr("its \"format\" is null"));
  for (const std::string other : {"[1]", "7", "", "no JSON"}) {
    EXPECT_EQ(refused(other, ErrorCode::data_loss),
              "the manifest is damaged: its checksum does not match what it says; take it from a "
              "copy, or make the dataset anew");
  }
}

TEST(ShardManifest, golden_text_of_a_whole) {
  const std::string sealed = R"({"a":1,"format":"infeed-manifest 1"})";
  EXPECT_EQ(seal_manifest(R"({"a": 1})"),
            fmt::format("{{\n \"a\": 1,\n \"checksum\": \"{:08x}\",\n \"format\": "
                        "\"infeed-manifest 1\"\n}}\n",
                        crc32c(sealed)));
}

TEST(ShardManifest, knows_the_endings_of_what_lies_beside_a_shard) {
  for (const std::string ending : {".index", ".points", ".idx"}) {
    EXPECT_EQ(side_ending_of("a.tfrecord" + ending), ending);
    EXPECT_EQ(side_ending_of("a" + ending + ".gz"), "");
  }
  EXPECT_EQ(side_ending_of("a.tfrecord"), "");
  EXPECT_EQ(side_ending_of("index"), "");
}

// The names were opened, whatever their targets, and the content was printed.
TEST(ShardManifest, names_only_files_of_its_own_folder) {
  const TemporaryFolder folder;
  for (const std::string name : {"/etc/passwd", "../x", "..", "", "/dev/zero", "a/b", "s3://b/x"}) {
    const std::string shard = to_json(ManifestShard{name, {1, 1}, 1, std::nullopt});
    const auto file =
        folder.write("x.manifest.json", seal_manifest("{\"shards\":[" + shard + "]}"));
    const Error error = error_of([&] { read_shard_manifest(file); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.message(), "the manifest names '" + name +
                                   "' as a shard, which is no name of a file in its own folder; "
                                   "that was not read, and who made the manifest should not be "
                                   "trusted");
    EXPECT_EQ(error.file(), file);
    EXPECT_THROW(parse_manifest_shard(shard), Error);
  }
}

TEST(ShardManifest, keeps_names_that_are_no_utf8) {
  const std::string name =
      "Gr\xf6\xdf"
      "e-\\x41-00000-of-00001.tfrecord";
  const std::string json = to_json(ManifestShard{name, {1, 1}, 1, std::nullopt});
  EXPECT_THAT(json, HasSubstr(R"(Gr\\xf6\\xdfe-\\\\x41-0)"));
  EXPECT_EQ(parse_manifest_shard(json).file, name);
}

TEST(ShardManifest, belongs_to_files_by_their_names) {
  EXPECT_EQ(manifest_of("data/train-00003-of-00016.tfrecord"), "data/train.manifest.json");
  EXPECT_EQ(manifest_of("train-00003-of-00016.tfrecord.gz"), "train.manifest.json");
  EXPECT_EQ(manifest_of("data/train.tfrecord"), std::nullopt);
  EXPECT_EQ(manifest_of("s3://bucket/train-00003-of-00016.tfrecord"), std::nullopt);
}

TEST(ShardManifest, of_several_sets) {
  const TemporaryFolder folder;
  folder.write("train.manifest.json", two_shards("train"));
  folder.write("test.manifest.json", two_shards("test"));
  ShardManifests manifests;
  const auto find = [&](const std::string& name) { return manifests.find(folder.file(name)); };
  ASSERT_TRUE(find("test-00001-of-00002.tfrecord"));
  EXPECT_EQ(find("test-00001-of-00002.tfrecord")->examples, 90U);
  EXPECT_EQ(find("train-00000-of-00002.tfrecord")->sum.bytes, 2400U);
  EXPECT_FALSE(find("other.tfrecord"));
  EXPECT_FALSE(find("train-00000-of-00003.tfrecord"));
  EXPECT_FALSE(find("none-00000-of-00002.tfrecord"));
  std::filesystem::remove(folder.file("train.manifest.json"));
  EXPECT_TRUE(find("train-00001-of-00002.tfrecord")) << "it has been read";
}

}  // namespace
}  // namespace infeed
