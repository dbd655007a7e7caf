#include "infeed/records/features.h"

#include <array>
#include <fmt/format.h>
#include <utility>

#include "features/feature_functions.h"

namespace infeed {

namespace {

constexpr std::array<std::string_view, 10> kStepNames = {
    "hash_buckets", "vocabulary", "split",     "cast",    "fill",
    "clip",         "bucketise",  "normalise", "one_hot", "multi_hot"};
static_assert(kStepNames.size() == std::variant_size_v<feature::Step>);

const std::string& column_of(const feature::Step& step) {
  return std::visit([](const auto& one) -> const std::string& { return one.column; }, step);
}

const std::string& result_of(const feature::Step& step) {
  return std::visit(
      [](const auto& one) -> const std::string& { return one.to.empty() ? one.column : one.to; },
      step);
}

/// Puts operation and column in front of an error's message.
[[noreturn]] void rethrow_at(const feature::Step& step, const Error& error) {
  const char* const separator = error.code() == ErrorCode::data_loss ? ", " : ": ";
  throw error.reworded(error.code(), fmt::format("{}: column '{}'{}{}", feature::name_of(step),
                                                 column_of(step), separator, error.message()));
}

}  // namespace

std::string_view feature::name_of(const Step& step) { return kStepNames.at(step.index()); }

struct Features::State {
  std::vector<feature::Step> steps;
  std::vector<detail::FeatureFunction> functions;
  detail::ContentHash words;  ///< the words of all vocabularies
};

Features::Features(std::initializer_list<feature::Step> steps)
    : Features(std::vector<feature::Step>(steps)) {}

Features::Features(std::vector<feature::Step> steps) {
  auto state = std::make_shared<State>();
  for (const feature::Step& step : steps) {
    try {
      if (const auto* const vocabulary = std::get_if<feature::Vocabulary>(&step)) {
        std::vector<std::string> words = detail::words_of(*vocabulary);
        state->words.add(words.size());
        for (const std::string& word : words) state->words.add(std::string_view(word));
        state->functions.push_back(detail::vocabulary_function(*vocabulary, std::move(words)));
        continue;
      }
      std::visit(
          [&]<class One>(const One& one) {
            if constexpr (!std::is_same_v<One, feature::Vocabulary>) {
              state->functions.push_back(detail::feature_function(one));
            }
          },
          step);
    } catch (const Error& error) {
      rethrow_at(step, error);
    }
  }
  state->steps = std::move(steps);
  state_ = std::move(state);
}

ColumnBatch Features::operator()(const ColumnBatch& batch) const {
  ColumnBatch result = batch;
  for (std::size_t i = 0; i < state_->steps.size(); ++i) {
    const feature::Step& step = state_->steps[i];
    const Column* const column = result.find(column_of(step));
    try {
      if (column == nullptr) result.column(column_of(step));  // throws with the nearest names
      result = result.with_column(result_of(step), state_->functions[i](*column));
    } catch (Error& error) {
      // The error stands for one row; the others of the batch are lost with it.
      if (error.code() == ErrorCode::data_loss) {
        error.losing({.records = static_cast<std::uint64_t>(batch.rows()) - 1});
      }
      rethrow_at(step, error);
    }
  }
  return result;
}

const std::vector<feature::Step>& Features::steps() const { return state_->steps; }

std::uint64_t Features::hash() const {
  detail::ContentHash hash = state_->words;
  for (const feature::Step& step : state_->steps) detail::add_options(hash, step);
  return hash.value();
}

}  // namespace infeed
