#pragma once

#include <string>
#include <vector>

#include "infeed/error.h"

/// Why: a folder from which a shard is gone, in which one was cut between two records, or into which
/// two numberings of one set were copied, reads without an error and gives other data than was
/// written. Whoever reads a whole set, by a pattern or a folder, compares what was found with what
/// the set must have.
///
///     const std::vector<std::string> files = infeed::match_files("data/train-*");
///     for (const infeed::SetProblem& problem : infeed::find_set_problems(files)) {
///       std::puts(problem.text.c_str());  // "the shard is missing: ..."
///     }
///
/// A set is the files whose names differ only in the numbers of shard_name() (files.h). Files of
/// other names belong to no set, and nothing is known about them.
///
/// | compared                  | with                       | finding                               |
/// |---------------------------|----------------------------|---------------------------------------|
/// | the numbers in the names, | each other                 | missing, too high, two of one number, |
/// | from 0 or from 1          |                            | two numberings                        |
/// | files and their sizes     | the manifest beside them   | missing, cut, changed, not of the set |
/// |                           | (SetCheck::manifest)       |                                       |
///
/// The sources of a pipeline compare numbers: a file that is cut or changed costs one error when it
/// is read (records.h), and not the run. The commands compare with the manifest.
///
/// Contents aren't read: `infeed verify` does that. A list of files that the user wrote is a choice
/// and isn't compared: records({"a", "b"}), "train-{00000..00003}-of-00016.tfrecord", or
/// records(infeed::match_files(pattern)) for a part of a set on purpose.
///
/// Thread-safety: pure functions of the file system.
namespace infeed {

struct SetProblem {
  ErrorCode code = ErrorCode::data_loss;
  std::string file;
  std::string text;
};

enum class SetCheck {
  numbers,   ///< in the names alone
  manifest,  ///< where there is one; else, and for URLs, numbers
};

/// All findings, in the order of the sets' names; none if the sets are whole. A manifest that can't
/// be read is one, and the numbers are compared then.
std::vector<SetProblem> find_set_problems(const std::vector<std::string>& files,
                                          SetCheck check = SetCheck::manifest);

/// Throws the first of them, with the number of the others and how to go on; nothing if there is
/// none. data_loss for a shard that is missing or has another size, failed_precondition for one too
/// many.
void throw_set_problems(const std::vector<SetProblem>& problems);

/// True if a pattern names `files`, its match_files(), itself: by a name or by braces, and not by
/// wildcards.
bool lists_files(const std::string& pattern, const std::vector<std::string>& files);

/// match_files() of one pattern, which must be whole by their numbers unless the pattern lists them.
std::vector<std::string> match_whole_sets(const std::string& pattern);

}  // namespace infeed
