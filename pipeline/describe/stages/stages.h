#pragma once

#include <infeed/describe/stage_table.h>

/// The table's parts, one a file.
namespace infeed::describe {

// Texts that several stages have.
inline constexpr const char* kFilesText =
    "A pattern of file names (*, ?, [a-z], {a,b}, and ** for any folders), or a list of names in "
    "order.";
inline constexpr const char* kCompressionText =
    "How the files are compressed; recognised by content.";
inline constexpr const char* kSeedText =
    "Without it a random one is drawn when the pipeline is described.";
inline constexpr const char* kReshuffleText = "Whether each pass has another order.";

void add_record_sources(StageTable& table);
void add_text_sources(StageTable& table);
void add_other_sources(StageTable& table);
void add_stream_stages(StageTable& table);
void add_batch_stages(StageTable& table);
void add_row_stages(StageTable& table);
void add_bucket_stage(StageTable& table);
void add_leave_out(StageTable& table);
void add_cache_stages(StageTable& table);
void add_combining_stages(StageTable& table);
void add_interleave(StageTable& table);
/// Functions of the columns of a batch. Add more of them here.
void add_column_functions(StageTable& table);
/// Adds nothing in a build without INFEED_IMAGES.
void add_image_functions(StageTable& table);

}  // namespace infeed::describe
