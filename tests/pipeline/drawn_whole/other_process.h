#pragma once

#include <string>

#include "pipeline/drawn_whole/drawn_case.h"
#include "pipeline/drawn_whole/run.h"

namespace infeed::test {

/// Returns the stream of the same drawn pipeline from a new process, which describes it anew: the
/// whole stream, or the part behind a checkpoint's text.
Stream stream_of_other_process(const CaseOptions& options, const DrawnCase& drawn,
                               const std::string& checkpoint_text);
/// Writes the stream to `out_file`, a line an element, in that process. An empty `checkpoint_file`:
/// from the beginning.
void write_stream(DrawnCase& drawn, const std::string& checkpoint_file,
                  const std::string& out_file);

enum class Output { shown, none };
/// Starts this program with other arguments. Returns its exit status, or 128 + its signal.
int run_self(const std::vector<std::string>& arguments, Output output = Output::shown);

}  // namespace infeed::test
