#pragma once

#include <string>

#include "pipeline/drawn_whole/drawn_case.h"
#include "pipeline/drawn_whole/run.h"

namespace infeed::test {

/// The stream of the same drawn pipeline in a process that is started for it, which describes it anew:
/// the whole one, or what comes behind a checkpoint's text.
Stream stream_of_other_process(const CaseOptions& options, const DrawnCase& drawn,
                               const std::string& checkpoint_text);
/// What that process does: writes the stream to `out_file`, a line an element. An empty
/// `checkpoint_file`: from the begin.
void write_stream(DrawnCase& drawn, const std::string& checkpoint_file,
                  const std::string& out_file);

enum class Output { shown, none };
/// Starts this program with other arguments; gives what it ended with, or 128 + its signal.
int run_self(const std::vector<std::string>& arguments, Output output = Output::shown);

}  // namespace infeed::test
