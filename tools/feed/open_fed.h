#pragma once

#include <string>

#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>
#include <infeed/world.h>

#include "train/train_pipelines.h"

namespace infeed::tools {

/// Returns the text by which a trainer of `infeed train` names its pipeline to workers.
std::string text_of_training(const PipelineOptions& options, const Tricks& tricks);

/// Returns the pipeline of a trainer: that of text_of_training(), or stages in JSON
/// (profile/described_pipeline.h). The text of a training holds the rows that its trainer asks for.
Dataset<ColumnBatch> open_fed(const World& share, const std::string& pipeline);

}  // namespace infeed::tools
