#include <fstream>
#include <vector>

#include <infeed/infeed.h>

#include "document_data.h"
#include "drain.h"
#include "row.h"

namespace infeed::compare {
namespace {

constexpr std::int64_t kRowTokens = 2048;
constexpr std::int64_t kOpenRows = 64;  // as Grain's bins
constexpr std::int64_t kPasses = 20;    // a pass takes 13 ms, and to start an iteration up to 2

/// Returns all documents as one ragged column, as a parser would.
ColumnBatch documents_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "lengths.bin", std::ios::binary);
  std::vector<std::int64_t> splits = {0};
  for (std::int32_t length = 0; file.read(reinterpret_cast<char*>(&length), sizeof(length));) {
    splits.push_back(splits.back() + length);
  }
  Tensor tokens(DType::int32, {splits.back()});
  std::int32_t next = 0;
  for (std::int32_t& token : tokens.writable<std::int32_t>()) token = next++ % 50'000;
  Tensor row_splits = Tensor::copy_of({static_cast<std::int64_t>(splits.size())},
                                      std::span<const std::int64_t>(splits));
  return ColumnBatch({{"tokens", Column::ragged(std::move(tokens), {std::move(row_splits)})}});
}

/// Documents a second, and the share of the rows that holds tokens, over whole passes.
struct Packed {
  double documents_per_second;
  double filled_percent;
};

Packed pack_documents(const RunOptions& options) {
  const ColumnBatch all = documents_in(options.data / "documents");
  const auto packed = from_columns(all, 256) | repeat(kPasses) |
                      pack(8, {.length = kRowTokens, .window = kOpenRows});
  std::int64_t documents = 0;
  std::uint64_t rows = 0;
  const auto start = Clock::now();
  do {
    for (const ColumnBatch& batch : packed.iterate()) {
      rows += static_cast<std::uint64_t>(batch.rows());
    }
    documents += kPasses * all.rows();
  } while (seconds_since(start) < options.measure_seconds);
  const double passes = static_cast<double>(documents) / static_cast<double>(all.rows());
  const auto tokens = static_cast<double>(all.columns()[0].values().shape()[0]);
  return {static_cast<double>(documents) / seconds_since(start),
          100 * passes * tokens / (static_cast<double>(rows) * kRowTokens)};
}

}  // namespace

std::vector<Row> pack_rows() {
  return {{"documents packed into rows of 2048",
           [](const RunOptions& options) -> Measurement {
             return {pack_documents(options).documents_per_second};
           }},
          {"rows of 2048 that are filled", [](const RunOptions& options) -> Measurement {
             return {pack_documents(options).filled_percent};
           }}};
}

}  // namespace infeed::compare
