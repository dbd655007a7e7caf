#pragma once

#include <string>

#include <infeed/records/line_journal.h>

#include "cache/element_store.h"

// Reads and writes the lines of a store's journal (line_journal.h). Fields are separated by tabs,
// and the last one is the line's CRC-32C:
//
//     infeed elements 1
//     is <what the elements are, a line each>
//     seen <errors of all stages before, until here>
//     drew <stage, or "outermost"> <its line in a checkpoint, with the seed>
//     error <position> <code> <stage> <file> <offset> <record> <message>
//     shard <file> <values> <bytes>
//     end <elements, errors included>
namespace infeed::detail {

inline constexpr LineChecksum kJournalChecksum = LineChecksum::behind_text;

std::string journal_file(const std::string& folder);
std::string journal_shard(const StoredShard& shard);
std::string journal_error(std::uint64_t position, const Error& error);
std::string journal_seen(std::uint64_t errors_on_the_way);
std::string journal_draw(const StoredDraw& draw);
std::string journal_end(std::uint64_t slots);
/// Returns the text of all lines except the end.
std::string journal_of(const StoreContent& content);

}  // namespace infeed::detail
