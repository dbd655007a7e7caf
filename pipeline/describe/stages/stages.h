#pragma once

#include <infeed/describe/stage_table.h>

/// The table's parts, one a file.
namespace infeed::describe {

void add_record_sources(StageTable& table);
void add_text_sources(StageTable& table);
void add_other_sources(StageTable& table);
void add_stream_stages(StageTable& table);
void add_batch_stages(StageTable& table);
void add_cache_stages(StageTable& table);
void add_combining_stages(StageTable& table);
void add_interleave(StageTable& table);
/// Functions of the columns of a batch. Add more of them here.
void add_column_functions(StageTable& table);
/// Adds nothing in a build without INFEED_IMAGES.
void add_image_functions(StageTable& table);

}  // namespace infeed::describe
