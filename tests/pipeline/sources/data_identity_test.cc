#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sys/resource.h>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stream.h"
#include "records/arrays/npy_bytes.h"
#include "records/samples/tar_bytes.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// Checkpoints, caches and snapshots go on with data that was copied or moved, and refuse other data.
namespace infeed::test {
namespace {

/// A source over files in a folder. Elements don't matter, so they are texts.
using Make = std::function<Dataset<std::string>(const std::string& folder)>;

struct DataSource {
  std::string file;     ///< the name of one of its files
  std::string content;  ///< which differs in the byte "1" only
  Make make;
};

std::map<std::string, DataSource> data_sources() {
  const auto text = map([](const Record& record) { return std::string(record.bytes()); });
  const auto rows = map([](const ColumnBatch& batch) { return std::to_string(batch.rows()); });
  const ColumnSchema schema = ColumnSchema().column("id", DType::int64);
  const std::string array = test::npy_of("<i8", "(3,)", test::bytes_of<std::int64_t>({'1', 8, 9}));
  const auto in = [](const std::string& folder, const char* name) {
    return std::vector<std::string>{folder + "/" + name};
  };
  return {
      {"files", {"a.txt", "1\n", [=](auto& f) { return files(in(f, "a.txt")); }}},
      {"lines", {"a.txt", "1\n2\n", [=](auto& f) { return lines(in(f, "a.txt")) | text; }}},
      {"csv",
       {"a.csv", "id\n1\n2\n", [=](auto& f) { return csv(in(f, "a.csv"), schema, 1) | rows; }}},
      {"json_lines",
       {"a.jsonl", "{\"id\":1}\n{\"id\":2}\n",
        [=](auto& f) { return json_lines(in(f, "a.jsonl"), schema, 1) | rows; }}},
      {"fixed_length_records",
       {"a.bin", "1234", [=](auto& f) { return fixed_length_records(in(f, "a.bin"), 2) | text; }}},
      {"npy", {"a.npy", array, [=](auto& f) { return npy(in(f, "a.npy"), 1) | rows; }}},
      {"npz",
       {"a.npz", test::zip_of({{"x.npy", array}}, false),
        [=](auto& f) { return npz(in(f, "a.npz"), 1) | rows; }}},
      {"tar",
       {"a.tar", test::tar_of({{"a.txt", "1"}, {"b.txt", "2"}}),
        [=](auto& f) {
          return tar(in(f, "a.tar")) | map([](const TarSample& sample) { return sample.key; });
        }}},
      {"folder", {"cat/a.txt", "1", [=](auto& f) {
                    return folder(f) | map([](const LabeledFile& file) { return file.name; });
                  }}}};
}

class DataIdentities : public ::testing::Test {
 protected:
  /// Changes the last byte "1" of a file, and neither its size nor its time.
  void change(const std::string& name) const {
    const std::string file = folder_.file(name);
    const fs::file_time_type time = fs::last_write_time(file);
    std::string bytes = read_whole(file);
    bytes.at(bytes.rfind('1')) = '3';
    std::ofstream(file, std::ios::binary) << bytes;  // write_whole() would make another file
    fs::last_write_time(file, time);
  }
  static Checkpoint checkpoint_of(const Dataset<std::string>& dataset) {
    auto iterator = dataset.iterate();
    iterator.next();
    return iterator.checkpoint();
  }

  static Stream texts_of(const Dataset<std::string>& dataset, IterateOptions options = {}) {
    auto iterator = dataset.iterate(std::move(options));
    Stream texts;
    while (const auto text = iterator.next()) texts.push_back(*text);
    return texts;
  }

  const TemporaryFolder folder_;
};

TEST_F(DataIdentities, CopiedDataResumesAndAChangedByteIsRefused) {
  for (const auto& [name, source] : data_sources()) {
    SCOPED_TRACE(name);
    folder_.write(name + "/1/" + source.file, source.content);
    const Dataset<std::string> first = source.make(folder_.file(name + "/1"));
    const Checkpoint checkpoint = checkpoint_of(first);
    const Stream rest = texts_of(first, {.resume = checkpoint});

    fs::copy(folder_.file(name + "/1"), folder_.file(name + "/2"), fs::copy_options::recursive);
    fs::last_write_time(folder_.file(name + "/2/" + source.file),
                        fs::file_time_type::clock::now() - std::chrono::hours(100));
    const Dataset<std::string> copy = source.make(folder_.file(name + "/2"));
    EXPECT_EQ(texts_of(copy, {.resume = checkpoint}), rest);

    change(name + "/1/" + source.file);
    const Error error = error_of([&, &from = source, &folder = name] {
      from.make(folder_.file(folder + "/1")).iterate({.resume = checkpoint});
    });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_THAT(error.message(), HasSubstr("content="));
  }
}

TEST_F(DataIdentities, RecordsResumeWhereTheyWereCopied) {
  const auto write_records = [&](const std::string& folder, const std::string& second) {
    fs::create_directories(folder_.file(folder));
    RecordWriter writer(folder_.file(folder + "/a.tfrecord"), {.existing = ExistingFile::replace});
    writer.write("first");
    writer.write(second);
    writer.close();
    return folder_.file(folder + "/a.tfrecord");
  };
  const auto text = map([](const Record& record) { return std::string(record.bytes()); });
  const std::vector<Make> makes{
      [&](const std::string& file) { return records({file}) | text; },
      [&](const std::string& file) {
        return indexed_records({file}, {.without_index = WithoutIndex::scan}) | text;
      }};
  for (const Make& make : makes) {
    const Checkpoint checkpoint = checkpoint_of(make(write_records("1", "second")));
    const std::string copy = write_records("2", "second");
    EXPECT_EQ(texts_of(make(copy), {.resume = checkpoint}), Stream{"second"});
    const std::string other = write_records("2", "sec0nd");
    EXPECT_EQ(error_of([&] { make(other).iterate({.resume = checkpoint}); }).code(),
              ErrorCode::failed_precondition);
  }
}

TEST_F(DataIdentities, CachesAndSnapshotsSeeAChangedLabel) {
  const std::string file = folder_.write("labels.csv", "label\n1\n2\n");
  const auto labels = [&] {
    return csv({file}, ColumnSchema().column("label", DType::int64), 2) |
           map([](const ColumnBatch& batch) {
             return batch.columns()[0].values<std::int64_t>()[0];
           });
  };
  const auto cached = [&](FileCacheOptions::Mismatch mismatch) {
    return stream_of(labels() | cache({.path = folder_.file("cache"), .mismatch = mismatch}));
  };
  const auto kept = [&] {
    return stream_of(labels() | snapshot({.path = folder_.file("snapshots")}));
  };
  EXPECT_EQ(cached(FileCacheOptions::Mismatch::refuse), Stream{"1"});
  EXPECT_EQ(kept(), Stream{"1"});
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(100));
  EXPECT_EQ(cached(FileCacheOptions::Mismatch::refuse), Stream{"1"}) << "another time is no change";
  change("labels.csv");
  EXPECT_THAT(cached(FileCacheOptions::Mismatch::refuse).at(0), HasSubstr("content="));
  EXPECT_EQ(cached(FileCacheOptions::Mismatch::rewrite), Stream{"3"});
  EXPECT_EQ(kept(), Stream{"3"});
}

TEST_F(DataIdentities, AChangeBeforeTheFirstCheckpointIsSeen) {
  const std::string file = folder_.write("a.txt", "1\n2\n");
  auto iterator = lines({file}).iterate();
  iterator.next();
  folder_.write("a.txt", "1\n3\n");
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(100));
  const Checkpoint mixed = iterator.checkpoint();
  EXPECT_EQ(error_of([&] { lines({file}).iterate({.resume = mixed}); }).code(),
            ErrorCode::failed_precondition);
}

TEST_F(DataIdentities, MissingFilesAndPipesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  const auto make = [&] { return files({folder_.file("pipe"), folder_.file("gone")}); };
  const Checkpoint checkpoint = checkpoint_of(make());
  EXPECT_EQ(texts_of(make(), {.resume = checkpoint}).size(), 1U);
}

/// It counted as a file without content, and a resume of such a checkpoint was refused for good.
TEST_F(DataIdentities, AFileThatCannotBeOpenedNowIsNoOtherFile) {
  const std::string file = folder_.write("a.txt", "1\n2\n");
  const Checkpoint expected = lines({file}).iterate().checkpoint();
  auto iterator = lines({file}).iterate();
  rlimit open_files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &open_files), 0);
  const rlimit none{0, open_files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Error error = error_of([&] { iterator.checkpoint(); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &open_files), 0);
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(iterator.checkpoint().signature, expected.signature);
}

/// Holes take no room on the disk. Beside many files, of which none is there, 107 KB of it are read.
TEST_F(DataIdentities, LargeFilesAreReadInPlaces) {
  constexpr std::uint64_t kLargeBytes = std::uint64_t{3} << 30;
  const std::string file = folder_.file("large");
  std::vector<std::string> names(10'000, folder_.file("gone"));
  names.front() = file;
  const auto signature_with = [&](std::uint64_t at) {
    folder_.write("large", "");
    fs::resize_file(file, kLargeBytes);
    write_at(file, at, "x");
    return files(names).iterate().checkpoint().signature;
  };
  const auto at_front = signature_with(0);
  const auto at_end = signature_with(kLargeBytes - 1);
  const auto between = signature_with(kLargeBytes / 3);
  EXPECT_NE(at_front, at_end);
  EXPECT_NE(at_front, between);
  EXPECT_NE(at_end, between);
}

}  // namespace
}  // namespace infeed::test
