#include <infeed/pipeline/fixed_length_records.h>
#include <infeed/pipeline/indexed_records.h>
#include <infeed/pipeline/lines.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/files.h>

#include "describe/stages/enums.h"
#include "describe/stages/stages.h"
#include "describe/stages/url_option.h"

namespace infeed::describe {
namespace {

struct RecordsStage : RecordsOptions {
  Files files = {};
};
struct IndexedRecordsStage : IndexedRecordsOptions {
  Files files = {};
};
struct LinesStage : LinesOptions {
  Files files = {};
};
struct FixedLengthRecordsStage : FixedLengthRecordsOptions {
  Files files = {};
  Count record_bytes = 1;
};

std::vector<std::string> matched(const Files& files) {
  return files.pattern ? match_files(*files.pattern) : files.names;
}

}  // namespace

void add_record_sources(StageTable& table) {
  RecordsStage records;
  records.parallelism = autotune;
  table
      .add("records", "Reads the records of TFRecord files, one file after the other.", records,
           StageRole::source)
      .required("files", &RecordsStage::files, kFilesText)
      .option("compression", &RecordsStage::compression, kCompressionText)
      .option("verify", &RecordsStage::verify, "Which checksums are compared.")
      .option("damage", &RecordsStage::damage,
              "Bytes that are no records: 'fail' gives an error and drops the rest of the file, "
              "'skip_and_resynchronise' drops and counts only what is damaged, "
              "'stop_like_tensorflow' ends where TensorFlow's reader does.")
      .option("block_bytes", &RecordsStage::block_bytes, "Bytes read at once.")
      .option("record_bytes_max", &RecordsStage::record_bytes_max, "A longer record is damage.")
      .tuned("parallelism", &RecordsStage::parallelism, "Threads that decode inside one file.")
      .tuned("read_ahead_bytes", &RecordsStage::read_ahead_bytes,
             "The most decoded bytes that wait to be taken.")
      .option("map_files", &RecordsStage::map_files,
              "Use records where they lie in the page cache, without copying them. Only for files "
              "that nobody shortens meanwhile.")
      .option("manifest", &RecordsStage::manifest,
              "Whether the record counts of the manifest are compared.")
      .option("url", &RecordsStage::url, kUrlText)
      .makes([](const RecordsStage& stage, const Making&) {
        return stage.files.read([&](const auto& files) {
          return Elements{.dataset = infeed::records(files, stage), .files = matched(stage.files)};
        });
      });
  table
      .add("indexed_records",
           "Reads TFRecord files that have an index, so any record can be read by its row number.",
           IndexedRecordsStage{}, StageRole::source)
      .required("files", &IndexedRecordsStage::files, kFilesText)
      .option("verify", &IndexedRecordsStage::verify, "Which checksums are compared.")
      .option("without_index", &IndexedRecordsStage::without_index,
              "Files without an index or a manifest: 'refuse' gives an error, 'scan' reads their "
              "headers first.")
      .option("open_files_max", &IndexedRecordsStage::open_files_max, "The most open files.")
      .makes([](const IndexedRecordsStage& stage, const Making&) {
        return stage.files.read([&](const auto& files) {
          return Elements{.dataset = infeed::indexed_records(files, stage),
                          .files = matched(stage.files)};
        });
      });
  table
      .add("lines", "Reads the lines of text files, one file after the other.", LinesStage{},
           StageRole::source)
      .required("files", &LinesStage::files, kFilesText)
      .option("line_bytes_max", &LinesStage::line_bytes_max, "A longer line is damage.")
      .option("compression", &LinesStage::compression, kCompressionText)
      .option("url", &LinesStage::url, kUrlText)
      .makes([](const LinesStage& stage, const Making&) {
        return stage.files.read(
            [&](const auto& files) { return Elements{infeed::lines(files, stage)}; });
      });
  table
      .add("fixed_length_records", "Reads files of records that all have the same length.",
           FixedLengthRecordsStage{}, StageRole::source)
      .required("files", &FixedLengthRecordsStage::files, kFilesText)
      .required("record_bytes", &FixedLengthRecordsStage::record_bytes, "Length of a record.")
      .option("header_bytes", &FixedLengthRecordsStage::header_bytes,
              "Bytes skipped at the front of each file.")
      .option("footer_bytes", &FixedLengthRecordsStage::footer_bytes,
              "Bytes skipped at the end of each file.")
      .option("compression", &FixedLengthRecordsStage::compression, kCompressionText)
      .option("url", &FixedLengthRecordsStage::url, kUrlText)
      .makes([](const FixedLengthRecordsStage& stage, const Making&) {
        return stage.files.read([&](const auto& files) {
          return Elements{infeed::fixed_length_records(files, stage.record_bytes, stage)};
        });
      });
}

}  // namespace infeed::describe
