#include <array>
#include <cstdint>
#include <fstream>

#include <infeed/infeed.h>

#include "require.h"

// The input of a language model: two corpora of JSON lines, plain and compressed, mixed 0.7 to 0.3 by
// tokens, packed into rows of 2,048, and shared by hosts whose number changes: 4, then 2, then 3.
// After every change the hosts together read the rows that one host would have read.

constexpr std::int64_t kLength = 2'048;
constexpr std::uint64_t kGlobalRows = 12;  // a step of all hosts together

using Tokens = std::vector<std::int32_t>;
struct Row {
  std::array<std::int32_t, kLength> tokens;
  std::array<std::int32_t, kLength> segments;
};

/// A word's number by FNV-1a; 0 is padding.
Tokens tokenised(std::string_view text) {
  Tokens tokens;
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : text) {
    if (c != ' ') {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
      continue;
    }
    tokens.push_back(static_cast<std::int32_t>(1 + hash % 50'000));
    hash = 2'166'136'261U;
  }
  tokens.push_back(static_cast<std::int32_t>(1 + hash % 50'000));
  return tokens;
}

/// Writes `documents` of about `words` words into three files: plain, .gz and .zst.
std::vector<std::string> write_corpus(const std::filesystem::path& folder, const std::string& name,
                                      std::uint64_t documents, std::uint64_t words) {
  infeed::Philox random(words, 0);
  std::vector<std::string> files;
  for (const char* const packing : {"", "gzip -q", "zstd -q --rm"}) {
    const std::string file = (folder / (name + std::to_string(files.size()) + ".jsonl")).string();
    std::ofstream out(file);
    for (std::uint64_t d = 0; d < documents; ++d) {
      out << R"({"id": )" << d << R"(, "text": ")" << name;
      const std::uint64_t count = words / 2 + random() % words;
      for (std::uint64_t w = 0; w < count; ++w) out << " w" << random() % 30'000;
      out << "\"}\n";
    }
    out.close();
    const std::string ending =
        *packing == '\0' ? "" : (std::string(packing).front() == 'g' ? ".gz" : ".zst");
    if (*packing != '\0') {
      require(std::system((packing + (" '" + file + "'")).c_str()) == 0, packing);
    }
    files.push_back(file + ending);
  }
  return files;
}

infeed::Dataset<Tokens> documents(const std::vector<std::string>& files) {
  return infeed::json_lines(files, infeed::ColumnSchema().bytes("text"), 1) |
         infeed::map([](const infeed::ColumnBatch& line) {
           return tokenised(line.column("text").bytes(0));
         });
}

struct Corpora {
  infeed::Dataset<Tokens> web;
  infeed::Dataset<Tokens> code;
};

/// Rows for all hosts: every one describes the same stream.
infeed::Dataset<infeed::ColumnBatch> rows_of(const Corpora& corpora) {
  return infeed::sample_from_datasets(
             {corpora.web | infeed::repeat(), corpora.code | infeed::repeat()},
             {.weights = {0.7, 0.3}, .seed = 7},
             [](const Tokens& document) { return document.size(); }) |
         infeed::take(2'000) |
         infeed::pack(1, {.length = kLength, .window = 16, .columns = {{"tokens"}}});
}

infeed::Dataset<infeed::Batch<Row>> share(const Corpora& corpora, std::uint64_t hosts,
                                          std::uint64_t host) {
  return rows_of(corpora) | infeed::shard({.count = hosts, .index = host}) |
         infeed::map([](const infeed::ColumnBatch& packed) {
           Row row;
           std::ranges::copy(packed.column("tokens").values<std::int32_t>(), row.tokens.begin());
           std::ranges::copy(packed.column("tokens_segment_ids").values<std::int32_t>(),
                             row.segments.begin());
           return row;
         }) |
         infeed::batch(static_cast<std::int64_t>(kGlobalRows / hosts), {.drop_remainder = true});
}

bool equal(const Row& row, const infeed::ColumnBatch& expected) {
  return std::ranges::equal(row.tokens, expected.column("tokens").values<std::int32_t>()) &&
         std::ranges::equal(row.segments,
                            expected.column("tokens_segment_ids").values<std::int32_t>());
}

/// Lets `hosts` hosts take `steps` steps from the checkpoint on; they must read the rows from
/// `next_row` on. Returns the checkpoint of one of them.
infeed::Checkpoint run_hosts(const Corpora& corpora,
                             const std::vector<infeed::ColumnBatch>& expected, std::uint64_t hosts,
                             std::uint64_t steps, const std::optional<infeed::Checkpoint>& resume,
                             std::uint64_t& next_row) {
  infeed::Checkpoint saved;
  for (std::uint64_t host = 0; host < hosts; ++host) {
    const auto dataset = share(corpora, hosts, host);
    infeed::IterateOptions options;
    if (resume) options.resume = infeed::reshard_checkpoint(*resume, dataset);
    auto iterator = dataset.iterate(options);
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto batch = iterator.next();
      require(batch.has_value() && batch->size() == kGlobalRows / hosts, "a host has its rows");
      for (std::uint64_t row = 0; row < batch->size(); ++row) {
        const std::uint64_t at = next_row + step * kGlobalRows + row * hosts + host;
        require(
            equal(batch->row(row), expected.at(at)),
            std::to_string(hosts) + " hosts: row " + std::to_string(at) + " is that of one host");
      }
    }
    // Any host's will do: another one in each round.
    if (host == steps % hosts)
      saved = infeed::Checkpoint::from_text(iterator.checkpoint().to_text());
  }
  next_row += steps * kGlobalRows;
  return saved;
}

int main() {
  const std::filesystem::path folder = fresh_folder("language_model_data");
  const Corpora corpora{documents(write_corpus(folder, "web", 150, 600)),
                        documents(write_corpus(folder, "code", 150, 250))};

  const std::int32_t of_web = tokenised("web").front();
  std::vector<infeed::ColumnBatch> expected;
  double tokens = 0;
  double web_tokens = 0;
  for (const infeed::ColumnBatch& row : rows_of(corpora).iterate()) {
    expected.push_back(row);
    bool is_web = false;
    const auto places = row.column("tokens_positions").values<std::int32_t>();
    const auto segments = row.column("tokens_segment_ids").values<std::int32_t>();
    const auto values = row.column("tokens").values<std::int32_t>();
    for (std::size_t i = 0; i < values.size() && segments[i] != 0; ++i) {
      if (places[i] == 0)
        is_web = values[i] == of_web;  // a corpus begins each document by its name
      ++tokens;
      web_tokens += is_web ? 1 : 0;
    }
  }
  std::printf("%zu rows of %lld; %.1f %% of the tokens are of the first corpus\n", expected.size(),
              static_cast<long long>(kLength), 100 * web_tokens / tokens);
  require(std::abs(web_tokens / tokens - 0.7) < 0.005, "the first corpus has 0.7 of the tokens");
  require(expected.size() >= 8 * kGlobalRows, "there are enough rows");

  for (const std::uint64_t steps_of_4 : {0, 1, 2, 3}) {
    for (const std::uint64_t steps_of_2 : {1, 2}) {
      std::uint64_t next_row = 0;
      const infeed::Checkpoint of_4 =
          run_hosts(corpora, expected, 4, steps_of_4, std::nullopt, next_row);
      const infeed::Checkpoint of_2 = run_hosts(corpora, expected, 2, steps_of_2, of_4, next_row);
      run_hosts(corpora, expected, 3, 2, of_2, next_row);
    }
  }
  std::printf("4, 2 and 3 hosts read the rows of one\n");
}
