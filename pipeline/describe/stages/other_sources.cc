#include <infeed/pipeline/files.h>
#include <infeed/pipeline/folder.h>
#include <infeed/pipeline/npy.h>
#include <infeed/pipeline/random_integers.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/tar.h>
#include <infeed/records/files.h>

#include "describe/json.h"
#include "describe/stages/enums.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "describe/stages/url_option.h"

namespace infeed::describe {

/// The files by column: {"x": "x.npy", "y": "y.npy"}.
template <>
struct OptionValue<std::vector<NpyColumn>> {
  static std::string type() { return "Mapping[str, str]"; }
  static JsonText write(const std::vector<NpyColumn>& columns) {
    Json json = Json::object();
    for (const NpyColumn& column : columns) json[column.column] = column.file;
    return text_of(json);
  }
  static std::vector<NpyColumn> read(const JsonText& value, const std::string& place) {
    const Json json = parsed(value);
    if (!json.is_object()) refuse_value(place, value, "files by column, as {\"x\": \"x.npy\"}");
    std::vector<NpyColumn> columns;
    for (const auto& [name, file] : json.items()) {
      columns.push_back({name, OptionValue<std::string>::read(text_of(file), place + "." + name)});
    }
    return columns;
  }
};

namespace {

struct RangeStage : StageOptions {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
};
struct FilesStage : FilesOptions {
  Files pattern = {};
};
struct NpyStage : NpySourceOptions {
  Files files = {};
};
struct NpyColumnsStage : NpySourceOptions {
  std::vector<NpyColumn> columns = {};
};
struct FolderStage {
  std::string folder = {};
  std::vector<std::string> extensions = {};
  std::vector<std::string> classes = {};
  Count parallelism = 1;
  StageName name = {};
};
struct TarStage : TarOptions {
  Files files = {};
  StageName name = {};
};

/// Makes rows of a source of arrays. `read` makes its batches from their size and the options.
template <class Read>
Elements rows_of_arrays(const NpySourceOptions& preset, const Read& read) {
  const auto batches = [=](const BatchRows& rows, const ColumnSchema*) {
    NpySourceOptions options = preset;
    options.drop_remainder = rows.drop_remainder;
    if (rows.name) options.name = rows.name;
    return read(rows.size, options);
  };
  return rows_of_source(batches);
}

Elements npy_rows(const NpyStage& stage, bool is_npz) {
  return rows_of_arrays(stage, [stage, is_npz](Count size, const NpySourceOptions& options) {
    return stage.files.read([&](const auto& files) {
      return is_npz ? npz(files, size, options) : npy(files, size, options);
    });
  });
}

template <class Stage>
AddedStage<Stage> with_npy_options(AddedStage<Stage> added) {
  added
      .option("memory", &NpySourceOptions::memory,
              "Whether batches show the files' pages, which must not become shorter meanwhile.")
      .option("compression", &NpySourceOptions::compression, "How a whole file is compressed.")
      .option("url", &NpySourceOptions::url, kUrlText);
  return added;
}

}  // namespace

void add_other_sources(StageTable& table) {
  table
      .add("range", "Gives the integers from start up to but not including stop.", RangeStage{},
           StageRole::source)
      .required("stop", &RangeStage::stop, "The first number that isn't given.")
      .option("start", &RangeStage::start, "The first number.")
      .option("step", &RangeStage::step, "The difference of two numbers.")
      .makes([](const RangeStage& stage, const Making&) {
        return Elements{range(stage.start, stage.stop, stage.step, stage)};
      });
  table
      .add("counter", "Gives start, start + step, ... without an end.", RangeStage{},
           StageRole::source)
      .option("start", &RangeStage::start, "The first number.")
      .option("step", &RangeStage::step, "The difference of two numbers.")
      .makes([](const RangeStage& stage, const Making&) {
        return Elements{counter(stage.start, stage.step, stage)};
      });
  table
      .add("random_integers", "Gives random numbers from 0 up to 2^32 - 1, without an end.",
           RandomIntegersOptions{}, StageRole::source)
      .option("seed", &RandomIntegersOptions::seed, kSeedText)
      .option("global_seed", &RandomIntegersOptions::global_seed, "TensorFlow's set_seed.")
      .option("rerandomize_each_iteration", &RandomIntegersOptions::rerandomize_each_iteration,
              "Whether each pass has other numbers.")
      .makes([](const RandomIntegersOptions& stage, const Making&) {
        return Elements{random_integers(stage)};
      });
  table.add("files", "Gives the names of files, for interleave.", FilesStage{}, StageRole::source)
      .required("files", &FilesStage::pattern, kFilesText)
      .option("shuffle", &FilesStage::shuffle, "Whether the order is shuffled by the seeds.")
      .option("seed", &FilesStage::seed, kSeedText)
      .option("global_seed", &FilesStage::global_seed, "TensorFlow's set_seed.")
      .option("reshuffle_each_iteration", &FilesStage::reshuffle_each_iteration, kReshuffleText)
      .makes([](const FilesStage& stage, const Making&) {
        return stage.pattern.read([&](const auto& names) {
          return Elements{.dataset = infeed::files(names, stage),
                          .files = stage.pattern.pattern ? match_files(*stage.pattern.pattern)
                                                         : stage.pattern.names};
        });
      });
  with_npy_options(table
                       .add("npy", "Reads the rows of arrays that numpy.save wrote.", NpyStage{},
                            StageRole::source)
                       .required("files", &NpyStage::files, kFilesText))
      .option("column", &NpyStage::column, "The name of the column.")
      .makes([](const NpyStage& stage, const Making&) { return npy_rows(stage, false); });
  with_npy_options(table
                       .add("npz", "Reads the rows of the arrays that numpy.savez wrote.",
                            NpyStage{}, StageRole::source)
                       .required("files", &NpyStage::files, kFilesText))
      .option("arrays", &NpyStage::arrays, "The arrays to take, in this order; without it all.")
      .option("verify", &NpyStage::verify, "Whether checksums are compared.")
      .makes([](const NpyStage& stage, const Making&) { return npy_rows(stage, true); });
  with_npy_options(table
                       .add("npy_columns", "Reads arrays of several files side by side.",
                            NpyColumnsStage{}, StageRole::source)
                       .required("columns", &NpyColumnsStage::columns,
                                 "The file of each column, as {'x': 'x.npy', 'y': 'y.npy'}; all "
                                 "have as many rows."))
      .makes([](const NpyColumnsStage& stage, const Making&) {
        return rows_of_arrays(
            stage, [columns = stage.columns](Count size, const NpySourceOptions& options) {
              return npy_columns(columns, size, options);
            });
      });
  FolderStage folder;
  folder.parallelism = autotune;
  table
      .add("folder", "Reads the files of a folder with one folder per class.", folder,
           StageRole::source)
      .required("folder", &FolderStage::folder, "The folder of the classes' folders.")
      .option("extensions", &FolderStage::extensions, "Extensions of the files; without it all.")
      .option("classes", &FolderStage::classes, "The classes that the labels number.")
      .tuned("parallelism", &FolderStage::parallelism, "Files read at the same time.")
      .makes([](const FolderStage& stage, const Making&) {
        return Elements{infeed::folder(
            stage.folder, {.files = {.extensions = stage.extensions, .classes = stage.classes},
                           .parallelism = stage.parallelism,
                           .name = stage.name})};
      });
  table
      .add("tar", "Reads samples from tar files as WebDataset packs them.", TarStage{},
           StageRole::source)
      .required("files", &TarStage::files, kFilesText)
      .option("member_bytes_max", &TarStage::member_bytes_max,
              "A sample with a larger member is an error.")
      .option("compression", &TarStage::compression, kCompressionText)
      .option("url", &TarStage::url, kUrlText)
      .makes([](const TarStage& stage, const Making&) {
        return stage.files.read([&](const auto& files) {
          return Elements{infeed::tar(files, {.format = stage, .name = stage.name})};
        });
      });
}

}  // namespace infeed::describe
