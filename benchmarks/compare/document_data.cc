#include "document_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>

namespace infeed::compare {

void make_documents(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / "lengths.bin", std::ios::binary);
  std::mt19937_64 random(1);
  // The mean is median * exp(sigma^2 / 2).
  const double median = 400;
  std::lognormal_distribution<double> length(std::log(median),
                                             std::sqrt(2 * std::log(600 / median)));
  for (int i = 0; i < 20'000; ++i) {
    const auto tokens = static_cast<std::int32_t>(std::clamp(length(random), 1.0, 2048.0));
    file.write(reinterpret_cast<const char*>(&tokens), sizeof(tokens));
  }
}

void make_json_documents(const std::filesystem::path& folder,
                         const std::filesystem::path& documents) {
  std::filesystem::create_directories(folder);
  std::ifstream lengths(documents / "lengths.bin", std::ios::binary);
  std::ofstream json(folder / "documents.jsonl", std::ios::binary);
  std::int32_t next = 0;
  for (std::int32_t length = 0; lengths.read(reinterpret_cast<char*>(&length), sizeof(length));) {
    json << "{\"tokens\": [" << next++ % 50'000;
    for (std::int32_t i = 1; i < length; ++i) json << ", " << next++ % 50'000;
    json << "]}\n";
  }
}

}  // namespace infeed::compare
