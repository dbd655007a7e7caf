#include <cmath>
#include <cstdint>
#include <unordered_map>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "require.h"

// A recommender: 13 numbers, 26 categories and a history of any length, a vocabulary of all that
// occurs, and a logistic regression. Wherever it is killed it goes on to the same weights, bit for
// bit.

constexpr int kNumbers = 13;
constexpr int kCategories = 26;
constexpr std::int64_t kRows = 32;
constexpr std::uint64_t kSteps = 40;

std::string number_name(int i) { return "n" + std::to_string(i); }
std::string category_name(int i) { return "c" + std::to_string(i); }

void write_clicks(const std::string& file, std::int64_t count) {
  infeed::Philox random(3, 0);
  infeed::RecordWriter writer(file);
  for (std::int64_t n = 0; n < count; ++n) {
    infeed::ExampleBuilder click;
    const std::uint32_t liking = random() % 5;
    for (int i = 0; i < kNumbers; ++i) {
      click.floats(number_name(i),
                   static_cast<float>(random() % 1'000) / 1'000 + static_cast<float>(liking));
    }
    for (int i = 0; i < kCategories; ++i) {
      click.bytes(category_name(i),
                  category_name(i) + "=" + std::to_string(random() % 40 + liking));
    }
    std::vector<std::string> history(random() % 6);
    for (std::string& item : history) item = "item " + std::to_string(random() % 100);
    click.bytes("history", history);
    click.integers("clicked", liking > 2 ? 1 : 0);
    writer.write(click.encode());
  }
  writer.close();
}

infeed::ColumnSchema schema() {
  infeed::ColumnSchema columns;
  for (int i = 0; i < kNumbers; ++i) columns.column(number_name(i), infeed::DType::float32);
  for (int i = 0; i < kCategories; ++i) columns.bytes(category_name(i));
  columns.ragged_bytes("history").column("clicked", infeed::DType::int64);
  return columns;
}

using Vocabulary = std::unordered_map<std::string, std::int64_t>;

/// Calls `see` with every category of a batch and its column.
template <class See>
void for_categories(const infeed::ColumnBatch& batch, const See& see) {
  for (std::size_t c = 0; c < batch.columns().size(); ++c) {
    const infeed::Column& column = batch.columns()[c];
    if (column.dtype() != infeed::DType::bytes) continue;
    const auto count = static_cast<std::int64_t>(column.offsets().size()) - 1;
    for (std::int64_t i = 0; i < count; ++i) see(c, i, column.bytes(i));
  }
}

Vocabulary vocabulary_of(const infeed::Dataset<infeed::ColumnBatch>& batches) {
  Vocabulary vocabulary;
  for (const infeed::ColumnBatch& batch : batches.iterate()) {
    for_categories(batch, [&](std::size_t, std::int64_t, std::string_view value) {
      vocabulary.try_emplace(std::string(value), static_cast<std::int64_t>(vocabulary.size()));
    });
  }
  return vocabulary;
}

/// Puts numbers in the place of categories.
infeed::ColumnBatch looked_up(const infeed::ColumnBatch& batch, const Vocabulary& vocabulary) {
  std::vector<infeed::Tensor> ids;
  for (const infeed::Column& column : batch.columns()) {
    const bool is_bytes = column.dtype() == infeed::DType::bytes;
    ids.emplace_back(
        infeed::DType::int64,
        infeed::Shape({is_bytes ? static_cast<std::int64_t>(column.offsets().size()) - 1 : 0}));
  }
  for_categories(batch, [&](std::size_t column, std::int64_t i, std::string_view value) {
    ids[column].writable<std::int64_t>()[static_cast<std::size_t>(i)] =
        vocabulary.at(std::string(value));
  });
  infeed::ColumnBatch result = batch;
  for (std::size_t c = 0; c < batch.columns().size(); ++c) {
    const infeed::Column& column = batch.columns()[c];
    if (column.dtype() != infeed::DType::bytes) continue;
    result = result.with_column(batch.names()[c],
                                column.kind() == infeed::Column::Kind::bytes
                                    ? infeed::Column::dense(ids[c])
                                    : infeed::Column::ragged(ids[c], {column.partitions()[0]}));
  }
  return result;
}

struct Model {
  explicit Model(std::size_t words)
      : numbers(infeed::Tensor::copy_of<float>({kNumbers}, std::vector<float>(kNumbers))),
        words_(infeed::Tensor::copy_of<double>({static_cast<std::int64_t>(words)},
                                               std::vector<double>(words))) {}

  infeed::Tensor numbers;
  infeed::Tensor words_;

  /// Returns the loss of a batch, and learns from it.
  double step(const infeed::ColumnBatch& batch) {
    const auto of_numbers = numbers.writable<float>();
    const auto of_words = words_.writable<double>();
    const auto clicked = batch.column("clicked").values<std::int64_t>();
    const infeed::Column& history = batch.column("history");
    double loss = 0;
    for (std::size_t row = 0; row < clicked.size(); ++row) {
      std::vector<std::int64_t> words;
      for (int i = 0; i < kCategories; ++i) {
        words.push_back(batch.column(category_name(i)).values<std::int64_t>()[row]);
      }
      const auto splits = history.row_splits();
      for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        words.push_back(history.values<std::int64_t>()[static_cast<std::size_t>(i)]);
      }
      double logit = 0;
      for (int i = 0; i < kNumbers; ++i) {
        logit +=
            static_cast<double>(of_numbers[i]) * batch.column(number_name(i)).values<float>()[row];
      }
      for (const std::int64_t word : words) logit += of_words[static_cast<std::size_t>(word)];
      const double guess = 1 / (1 + std::exp(-logit));
      const double error = guess - static_cast<double>(clicked[row]);
      loss -= std::log(clicked[row] != 0 ? guess : 1 - guess);
      for (int i = 0; i < kNumbers; ++i) {
        of_numbers[i] -=
            static_cast<float>(0.002 * error) * batch.column(number_name(i)).values<float>()[row];
      }
      for (const std::int64_t word : words)
        of_words[static_cast<std::size_t>(word)] -= 0.05 * error;
    }
    return loss / static_cast<double>(clicked.size());
  }
};

infeed::TrainingState state_of(std::uint64_t step, const Model& model,
                               const infeed::Checkpoint& pipeline) {
  return {.step = step,
          .tensors = {{"numbers", model.numbers}, {"words", model.words_}},
          .bytes = {{"pipeline", pipeline.to_text()}}};
}

int main() {
  const std::string folder = fresh_folder("recommender_data").string();
  write_clicks(folder + "/clicks.tfrecord", 400);
  const auto clicks = infeed::records(folder + "/clicks.tfrecord");
  const auto vocabulary = std::make_shared<const Vocabulary>(
      vocabulary_of(clicks | infeed::parse_columns(schema(), kRows)));
  require(schema().columns().size() == kNumbers + kCategories + 2, "40 features and a label");
  const auto describe = [&](int threads) {
    return clicks | infeed::shuffle({.buffer = 100, .seed = 5}) | infeed::repeat() |
           infeed::parse_columns(schema(), kRows, {.parallelism = threads}) |
           infeed::map(
               [vocabulary](const infeed::ColumnBatch& batch) {
                 return looked_up(batch, *vocabulary);
               },
               {.parallelism = threads}) |
           infeed::prefetch();
  };

  Model whole(vocabulary->size());
  std::vector<double> losses;
  auto iterator = describe(2).iterate();
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    losses.push_back(whole.step(*iterator.next()));
    infeed::save_training_checkpoint(
        folder + "/checkpoints", state_of(step, whole, iterator.checkpoint()),
        {.keep = kSteps, .durability = infeed::Durability::leave_to_system});
  }
  std::printf("loss %.4f at first, %.4f at last, %zu words\n", losses.front(), losses.back(),
              vocabulary->size());
  require(losses.back() < 0.7 * losses.front(), "it learns");

  for (const std::string& checkpoint : infeed::training_checkpoints(folder + "/checkpoints")) {
    const auto saved = infeed::TrainingCheckpoint::open(checkpoint);
    Model model(vocabulary->size());
    model.numbers = saved.tensor("numbers", infeed::DType::float32, model.numbers.shape());
    model.words_ = saved.tensor("words", infeed::DType::float64, model.words_.shape());
    auto rest = describe(saved.step() % 3 == 0 ? 1 : 3)
                    .iterate({.resume = infeed::Checkpoint::from_text(saved.bytes("pipeline"))});
    for (std::uint64_t step = saved.step(); step < kSteps; ++step) {
      require(model.step(*rest.next()) == losses[step],
              "the loss of each step is that of the whole run");
    }
    require(model.words_ == whole.words_ && model.numbers == whole.numbers,
            "and so are the weights");
  }
  std::printf("resumed at each of %llu steps\n", static_cast<unsigned long long>(kSteps));
}
