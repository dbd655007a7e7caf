#include "table_data.h"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <zstd.h>

namespace infeed::compare {
namespace {

constexpr std::int64_t kRows = 2'000'000;

constexpr std::array<std::string_view, 7> kWords = {
    "alpha", "beta gamma", "delta", "epsilon, zeta", "eta", "theta iota kappa", "lambda"};

std::string in_quotes_if_needed(const std::string& text) {
  return text.find(',') == text.npos ? text : '"' + text + '"';
}

}  // namespace

void make_table(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream csv(folder / "table.csv", std::ios::binary);
  std::ofstream json(folder / "table.jsonl", std::ios::binary);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const auto unit = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  csv << "id,user,count,year,price,score,x,y,name,comment\n";
  for (std::int64_t id = 0; id < kRows; ++id) {
    const std::uint64_t user = random() % 1'000'000'000;
    const auto count = static_cast<std::int64_t>(random() % 2000) - 1000;
    const std::uint64_t year = 1900 + random() % 130;
    // Prices, rounded figures, and the printed forms of float32 and float64.
    const std::string price = fmt::format("{:.2f}", unit() * 1000);
    const std::string score = fmt::format("{:.6f}", normal(random));
    const std::string x = fmt::format("{}", static_cast<float>(unit()));
    const std::string y = fmt::format("{}", normal(random) * 1000);
    const std::string name(kWords[random() % kWords.size()]);
    const std::string comment = fmt::format("{} {}", kWords[random() % kWords.size()], name);
    csv << fmt::format("{},{},{},{},{},{},{},{},{},{}\n", id, user, count, year, price, score, x, y,
                       in_quotes_if_needed(name), in_quotes_if_needed(comment));
    json << fmt::format(
        R"({{"id": {}, "user": {}, "count": {}, "year": {}, "price": {}, "score": {}, "x": {}, )"
        R"("y": {}, "name": "{}", "comment": "{}"}})"
        "\n",
        id, user, count, year, price, score, x, y, name, comment);
  }
}

void make_features(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream csv(folder / "features.csv", std::ios::binary);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr int kIntegers = 26;
  constexpr int kFloats = 14;
  constexpr int kFeatureRows = 200'000;
  for (int i = 0; i < kIntegers; ++i) csv << fmt::format("i{:02},", i);
  for (int i = 0; i < kFloats; ++i) csv << fmt::format("f{:02}{}", i, i + 1 < kFloats ? ',' : '\n');
  for (int row = 0; row < kFeatureRows; ++row) {
    csv << random() % 2;
    // Codes of categories, from few to many.
    for (int i = 1; i < kIntegers; ++i) csv << ',' << random() % (std::uint64_t{1} << i);
    for (int i = 0; i < kFloats; ++i) csv << fmt::format(",{:.4f}", normal(random));
    csv << '\n';
  }
}

void make_zstd_table(const std::filesystem::path& folder, const std::filesystem::path& table) {
  std::filesystem::create_directories(folder);
  for (const std::string name : {"table.csv", "table.jsonl"}) {
    std::string text(std::filesystem::file_size(table / name), '\0');
    std::ifstream(table / name, std::ios::binary)
        .read(text.data(), static_cast<std::streamsize>(text.size()));
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
    std::ofstream(folder / (name + ".zst"), std::ios::binary)
        .write(packed.data(), static_cast<std::streamsize>(size));
  }
}

}  // namespace infeed::compare
