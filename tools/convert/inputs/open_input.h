#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/convert/command.h>

#include "convert/images/image_options.h"
#include "convert/inputs/text_rows.h"
#include "convert/inputs/text_value.h"

/// Opens the data that `infeed convert` is given as an ExampleInput. The kinds and their features:
///
/// csv     a header with the columns' names, then rows; quotes as RFC 4180 has them. A feature a
///         column; an empty field is no feature. Kinds are chosen by column_choice.h. A first line
///         "sep=;" (Excel's) names the delimiter
/// tsv     the same with tabs, without quotes
/// jsonl   an object a line; nested objects as "outer.inner", lists of numbers or texts as lists.
///         Lists of lists must have the same shape in every line, which the manifest keeps
/// npy     a column a file, named by it, or an array of an .npz file; a row along the first
///         dimension. Rows of several uint8 are bytes
/// images  a folder a class: {image: the file's bytes, label: number of the class, class, filename}.
///         The labels number the folders, or a given list of classes
///         Decoded: the pixels, upright, with one number of channels for all, and height, width,
///         channels; of a tar's member "jpg" they are called jpg.height...
/// tar     members that share a name up to the first dot are one example (WebDataset): a feature an
///         extension in lower case, "cls" as an integer, and "__key__"
/// records TFRecord files; their bytes pass through as they are
/// files   each file whole: {content, filename}
///
/// csv, tsv, jsonl, npy, tar and records may be compressed by gzip, zstd or LZ4, and records by zlib.
namespace infeed::tools {

struct InputOptions {
  std::string kind = "auto";                        ///< auto: by the names of the files
  bool has_header = true;                           ///< csv and tsv; false: they are column1...
  std::optional<char> delimiter = {};               ///< csv and tsv; otherwise a comma and a tab
  std::vector<std::string> nulls = {};              ///< csv and tsv: cells that hold no value
  ColumnKinds kinds = {};                           ///< csv, tsv, jsonl; others: inferred from rows
  ImageOptions images = {};                         ///< for images and tar
  std::string classes_file = {};                    ///< for images; see read_class_list()
  std::vector<std::string> columns = {};            ///< columns of the output; empty: all
  std::map<std::string, std::string> renamed = {};  ///< name in the input -> in the output
  std::vector<InputKind> own_kinds = {};            ///< besides those above
  std::stop_token stop = {};  ///< ends a wait for a pipe or a server (cancelled)
};

/// "auto", "csv"...
std::vector<std::string> input_kinds(const std::vector<InputKind>& own_kinds = {});

/// `names`: files, patterns or folders. Throws not_found, invalid_argument (an unclear kind,
/// columns that don't exist), data_loss.
std::unique_ptr<ExampleInput> open_input(const std::vector<std::string>& names,
                                         const InputOptions& options);

// One function a kind, each in a file of its name.
using Files = std::vector<std::string>;
std::unique_ptr<ExampleInput> open_table(const Files& files, const TextFormat& format,
                                         const InputOptions& options);
std::unique_ptr<ExampleInput> open_json_lines(const Files& files, const InputOptions& options);
std::unique_ptr<ExampleInput> open_npy(const Files& files, const InputOptions& options);
std::unique_ptr<ExampleInput> open_image_folder(const std::string& folder,
                                                const ImageOptions& options,
                                                const std::vector<std::string>& classes);
std::unique_ptr<ExampleInput> open_tar(const Files& files, const ImageOptions& options);
std::unique_ptr<ExampleInput> open_records(const Files& files);
std::unique_ptr<ExampleInput> open_plain_files(const Files& files, std::stop_token stop);
/// Opens IDX images and their labels, as MNIST and its relatives come: {image: bytes, label:
/// int64}. Throws the errors of read_idx(); data_loss if the two don't belong together.
std::unique_ptr<ExampleInput> open_idx_pair(const std::string& images_file,
                                            const std::string& labels_file);
/// Returns the columns that the input names or, if only the examples know, those of some examples.
/// Columns of `wanted` that are not among these are looked for in all examples.
std::vector<std::string> known_columns(const ExampleInput& input,
                                       const std::vector<std::string>& wanted);
/// Passes on some of the features of `input`, under other names.
std::unique_ptr<ExampleInput> choose_columns(std::unique_ptr<ExampleInput> input,
                                             const InputOptions& options);

}  // namespace infeed::tools
