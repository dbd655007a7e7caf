#pragma once

#include <string>
#include <vector>

#include <infeed/records/column_schema.h>
#include <infeed/records/example_schema.h>

#include "pipeline/drawn_whole/kinds.h"
#include "pipeline/drawn_whole/plan.h"

/// The files that drawn sources read. Their content and damage depend only on the step's numbers,
/// so each process makes the same files or finds them made. All names are those of files in
/// `folder`.
///
/// Numbers of all: files, rows (of each file), text_bytes (the longest text), data_seed, pack (0:
/// plain, 1: gzip, 2: gzip of many members), and the damage: damage (DamageKind), damage_file,
/// damage_permille (its place).
namespace infeed::test {

enum class DamageKind { none, flip, cut, insert, missing, empty };
inline constexpr int kDamageKinds = 6;

/// Makes TFRecord files of Examples that hold both a Sentence and a Sample. Further numbers:
/// packing (0 none, 1 gzip, 2 zlib, 3 lz4, 4 gzip with flush points, 5 gzip of many members), bad
/// (of each so many rows one has features of another type; 0: none).
std::vector<std::string> record_files(const std::string& folder, const Step& step);
/// The schema of the Examples' features.
ExampleSchema<Sentence> sentence_schema();
ExampleSchema<Sample> sample_schema();
/// The same for parse_columns. Its kind: 0 ragged, 1 padded, 2 dense and bytes only.
ColumnSchema example_columns(std::int64_t kind);

/// Makes lines of any length, some of them empty.
std::vector<std::string> text_files(const std::string& folder, const Step& step);
std::vector<std::string> csv_files(const std::string& folder, const Step& step);
ColumnSchema csv_columns();
std::vector<std::string> json_files(const std::string& folder, const Step& step);
ColumnSchema json_columns();
/// Makes rows of 16 bytes each.
std::vector<std::string> fixed_files(const std::string& folder, const Step& step);
/// Makes int64 numbers.
std::vector<std::string> npy_files(const std::string& folder, const Step& step);
/// Makes samples of two members, "txt" and "bin".
std::vector<std::string> tar_files(const std::string& folder, const Step& step);
/// Makes a folder of two classes; `rows` files in each.
std::string class_folder(const std::string& folder, const Step& step);

}  // namespace infeed::test
