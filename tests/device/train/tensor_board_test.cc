#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>

#include <infeed/error.h>

#include "device/error_message.h"
#include "device/events/event_reader.h"
#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Answers the callback's questions, without a training.
class BoardControl : public FitControl {
 public:
  TrainingState state() override { return {}; }
  TuningReport tuning() const override { return {}; }
  void stop_training(std::string) override {}
  void set_rate_factor(double) override {}
  std::vector<Variable> variables() const override { return trained; }
  const StepGraph* graph() const override { return traced ? &*traced : nullptr; }

  std::vector<Variable> trained;
  std::optional<StepGraph> traced;
};

EpochLogs epoch_logs(std::int64_t epoch, double loss) {
  return {.epoch = epoch,
          .steps = 10,
          .training = {.examples = 10, .correct = 5, .loss_sum = 10 * loss},
          .validation = Metrics{.examples = 4, .correct = 3, .loss_sum = 4},
          .rate = 0.5};
}

/// Returns events of a folder with a single file, without the one that marks its beginning.
std::vector<events::Event> events_in(const std::string& folder, std::int64_t start) {
  const std::vector<std::string> files = event_files_in(folder);
  EXPECT_EQ(files.size(), 1U) << folder;
  std::vector<events::Event> all = events_of(files.at(0));
  EXPECT_EQ(all.at(0).session_log().status(), events::SessionLog::START);
  EXPECT_EQ(all.at(0).step(), start);
  all.erase(all.begin());
  return all;
}

TEST(TensorBoardCallback, WritesKerasLayout) {
  const TemporaryFolder folder;
  BoardControl control;
  {
    TensorBoard board(folder.path());
    EXPECT_FALSE(board.needs_gradients());
    board.on_execution_end(control, {.step = 10, .step_of_epoch = 10, .steps = 10});
    board.on_epoch_end(control, epoch_logs(0, 0.5));
    board.on_epoch_end(control, epoch_logs(1, 0.25));
  }
  const auto training = events_in(folder.file("train"), 0);
  EXPECT_THAT(tags_of(training),
              ElementsAre("epoch_loss", "epoch_accuracy", "epoch_learning_rate", "epoch_loss",
                          "epoch_accuracy", "epoch_learning_rate"));
  EXPECT_EQ(training[3].step(), 1);
  EXPECT_EQ(training[3].summary().value(0).simple_value(), 0.25);
  EXPECT_THAT(tags_of(events_in(folder.file("validation"), 0)),
              ElementsAre("epoch_loss", "epoch_accuracy", "epoch_loss", "epoch_accuracy"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("steps")));
}

TEST(TensorBoardCallback, RefusesNegativePeriods) {
  EXPECT_EQ(
      error_message([] { TensorBoard(TensorBoardOptions{.folder = "a", .every_steps = -1}); }),
      "TensorBoard's points every -1 steps and histograms every 0 epochs; take 1 or more, or "
      "0 for none");
  EXPECT_NE(error_message([] {
              TensorBoard(TensorBoardOptions{.folder = "a", .histograms_every_epochs = -1});
            }),
            "accepted");
}

TEST(TensorBoardCallback, WritesPointsByStepsAsOftenAsItIsAsked) {
  const TemporaryFolder folder;
  SmallTraining small;
  fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 8),
      {.epochs = 2,
       .steps_per_execution = 2,
       .callbacks = {std::make_shared<TensorBoard>(
           TensorBoardOptions{.folder = folder.path(), .every_steps = 3})}});
  std::vector<std::int64_t> steps;
  for (const events::Event& event : events_in(folder.file("steps"), 1)) {
    if (event.summary().value(0).tag() == "batch_loss") steps.push_back(event.step());
  }
  // Executions end at 2, 4, ..., 16; 3, 6, 9, 12 and 15 lie in some.
  EXPECT_THAT(steps, ElementsAre(4, 6, 10, 12, 16));
}

TEST(TensorBoardCallback, WritesWeightsAndTheGradientsOfTheLastUpdate) {
  const TemporaryFolder folder;
  SmallTraining small(0.2);
  const auto board = std::make_shared<TensorBoard>(
      TensorBoardOptions{.folder = folder.path(), .histograms_every_epochs = 2});
  EXPECT_TRUE(board->needs_gradients());
  fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 16),
      {.epochs = 3, .batches_per_update = 2, .callbacks = {board}});
  std::map<std::string, std::map<std::int64_t, events::HistogramProto>> histograms;
  for (const events::Event& event : events_in(folder.file("train"), 0)) {
    for (const auto& value : event.summary().value()) {
      if (value.has_histo()) histograms[value.tag()][event.step()] = value.histo();
    }
  }
  std::size_t trained = 0;
  for (const Variable& variable : small.scope.variables()) {
    if (!variable.trainable()) continue;
    ++trained;
    const auto& weights = histograms["weights/" + variable.name()];
    const auto& gradients = histograms["gradients/" + variable.name()];
    ASSERT_EQ(weights.size(), 2U) << variable.name();  // behind the epochs 0 and 2
    ASSERT_EQ(gradients.size(), 2U) << variable.name();
    const Tensor value = variable.value();
    EXPECT_EQ(weights.at(2).num(), static_cast<double>(value.values<float>().size()));
    EXPECT_EQ(weights.at(2).max(), std::ranges::max(value.values<float>()));
    EXPECT_NE(weights.at(0).sum(), weights.at(2).sum());
    EXPECT_EQ(gradients.at(2).num(), weights.at(2).num());
    EXPECT_NE(gradients.at(0).sum_squares(), gradients.at(2).sum_squares());
  }
  EXPECT_GE(trained, 4U);
  EXPECT_EQ(histograms.size(), 2 * trained);
}

/// Notes the gradients that it is given.
class NotedGradients : public Callback {
 public:
  explicit NotedGradients(bool needs) : needs_(needs) {}
  std::string_view name() const override { return "noted_gradients"; }
  bool needs_gradients() const override { return needs_; }
  void on_execution_end(FitControl& fit, const StepLogs&) override {
    std::vector<float> values;
    for (const auto& [variable, gradient] : fit.gradients()) {
      const auto items = gradient.values<float>();
      values.insert(values.end(), items.begin(), items.end());
    }
    of_steps.push_back(std::move(values));
  }

  std::vector<std::vector<float>> of_steps;

 private:
  bool needs_;
};

TEST(FitControl, GivesTheGradientsOfTheLastUpdateToWhoNeedsThem) {
  const auto noted = [](bool needs, std::int64_t batches_per_update) {
    SmallTraining small;
    const auto callback = std::make_shared<NotedGradients>(needs);
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 16),
        {.batches_per_update = batches_per_update, .clip_norm = 0.5, .callbacks = {callback}});
    return std::pair(callback->of_steps, small.weights());
  };
  const auto [without, weights] = noted(false, 2);
  EXPECT_THAT(without, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty()));
  const auto [with, same_weights] = noted(true, 2);
  EXPECT_EQ(same_weights, weights);
  ASSERT_EQ(with.size(), 4U);
  EXPECT_THAT(with[0], IsEmpty());  // no update yet
  EXPECT_EQ(with[1], with[2]);
  EXPECT_NE(with[2], with[3]);
  double squares = 0;
  for (const float value : with[1]) squares += double{value} * double{value};
  EXPECT_LE(squares, 0.25 + 1e-5);  // as they were applied
}

/// Sees what fit() keeps on a worker that isn't the chief, and asks for nothing itself.
class WorkersGradients : public NotedGradients {
 public:
  WorkersGradients() : NotedGradients(false) {}
  std::string_view name() const override { return "workers_gradients"; }
  RunsOn runs_on() const override { return RunsOn::every_worker; }
};

TEST(FitControl, KeepsNoGradientsForCallbacksOfTheChiefOnly) {
  const auto kept_by = [](std::int32_t worker) {
    SmallTraining small;
    const auto seen = std::make_shared<WorkersGradients>();
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
        {.callbacks = {std::make_shared<NotedGradients>(true), seen}, .worker = {.index = worker}});
    return seen->of_steps;
  };
  EXPECT_THAT(kept_by(0), ElementsAre(testing::Not(IsEmpty()), testing::Not(IsEmpty())));
  EXPECT_THAT(kept_by(1), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(TensorBoardCallback, CountsWhatIsNotFinite) {
  const TemporaryFolder folder;
  Scope scope;
  BoardControl control;
  const float values[] = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  control.trained = {scope.below("layer").variable("kernel", Tensor::copy_of<float>({3}, values)),
                     scope.variable("mean", Tensor::copy_of<float>({3}, values), false)};
  TensorBoard board(TensorBoardOptions{.folder = folder.path(), .histograms_every_epochs = 1});
  board.on_epoch_end(control, epoch_logs(0, 0.5));
  const auto all = events_in(folder.file("train"), 0);
  const std::vector<std::string> tags = tags_of(all);
  EXPECT_THAT(std::vector(tags.begin() + 3, tags.end()),
              ElementsAre("weights/layer/kernel", "not_finite/weights/layer/kernel"));
  EXPECT_EQ(all[3].summary().value(0).histo().num(), 2);
  EXPECT_EQ(all[4].summary().value(0).simple_value(), 1);
}

events::GraphDef graph_in(const std::vector<events::Event>& all) {
  events::GraphDef graph;
  int graphs = 0;
  for (const events::Event& event : all) {
    if (event.what_case() != events::Event::kGraphDef) continue;
    EXPECT_TRUE(graph.ParseFromString(event.graph_def()));
    ++graphs;
  }
  EXPECT_LE(graphs, 1);
  return graph;
}

TEST(TensorBoardCallback, WritesTheGraphOfAStepOnce) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, bool graph) {
    SmallTraining small;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 16),
        {.epochs = 2,
         .callbacks = {std::make_shared<TensorBoard>(
             TensorBoardOptions{.folder = folder.file(name), .graph = graph})}});
    return graph_in(events_in(folder.file(name + "/train"), 0));
  };
  EXPECT_EQ(run("without", false).node_size(), 0);
  const events::GraphDef graph = run("with", true);
  std::map<std::string, events::NodeDef> nodes;
  for (const events::NodeDef& node : graph.node()) nodes[node.name()] = node;
  // Two dense layers, the first with tanh, which goes into its kernel.
  ASSERT_TRUE(nodes.contains("kernel_0/dense"));
  ASSERT_TRUE(nodes.contains("kernel_0/tanh"));
  ASSERT_TRUE(nodes.contains("kernel_1/dense"));
  EXPECT_THAT(nodes["kernel_0/dense"].input(), IsEmpty());
  EXPECT_EQ(nodes["kernel_1/dense"].op(), "dense");
  const auto& shape = nodes["kernel_1/dense"].attr().at("_output_shapes").list().shape(0);
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_EQ(shape.dim(0).size(), 2);  // the share of a replica
  EXPECT_EQ(shape.dim(1).size(), 3);
}

TEST(TensorBoardCallback, NodesOfAGraphHaveNamesOfTheirOwn) {
  SmallTraining small;
  // The loss doesn't need these, so they stand in one box.
  const auto forward = [&](Tape& tape, const ColumnBatch& share) -> ReplicaResult {
    ReplicaResult result = small.forward(tape, share);
    TapeValue x = result.losses;
    for (const std::string name : {"hits", "hits", "hits_1", "hits"}) {
      x = tape.record(name, x.tensor(), {x},
                      [](const Tensor& dy) { return std::vector<Tensor>{dy}; });
    }
    return result;
  };
  const TemporaryFolder folder;
  BoardControl control;
  control.traced = StepGraph::trace(forward, points(4));
  TensorBoard board(folder.path());
  board.on_execution_end(control, {.step = 1, .step_of_epoch = 1, .steps = 1});
  const events::GraphDef graph = graph_in(events_in(folder.file("train"), 0));
  std::vector<std::string> names;
  std::vector<std::string> inputs;
  for (const events::NodeDef& node : graph.node()) {
    if (!node.op().starts_with("hits")) continue;
    names.push_back(node.name());
    ASSERT_EQ(node.input_size(), 1) << node.name();
    inputs.push_back(node.input(0));
  }
  EXPECT_THAT(names, ElementsAre("not_needed/hits", "not_needed/hits_1", "not_needed/hits_1_1",
                                 "not_needed/hits_2"));
  EXPECT_THAT(inputs, ElementsAre("kernel_2/softmax_cross_entropy", "not_needed/hits",
                                  "not_needed/hits_1", "not_needed/hits_1_1"));
}

/// The points of a curve as TensorBoard shows them: a file that starts at a step voids those of earlier
/// files from this step on.
std::map<std::int64_t, std::vector<float>> shown_points(const std::string& folder,
                                                        const std::string& tag) {
  std::map<std::int64_t, std::vector<float>> shown;
  for (const std::string& file : event_files_in(folder)) {
    for (const events::Event& event : events_of(file)) {
      if (event.has_session_log()) shown.erase(shown.lower_bound(event.step()), shown.end());
      for (const auto& value : event.summary().value()) {
        if (value.tag() == tag) shown[event.step()].push_back(value.simple_value());
      }
    }
  }
  return shown;
}

TEST(TensorBoardCallback, ASecondFitHasCurvesAndAGraphOfItsOwn) {
  const TemporaryFolder folder;
  const auto board =
      std::make_shared<TensorBoard>(TensorBoardOptions{.folder = folder.path(), .every_steps = 1});
  const auto run = [&](std::int64_t epochs) {
    SmallTraining small;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
        {.epochs = epochs, .validation = from_columns(points(16), 16), .callbacks = {board}});
  };
  run(3);
  run(2);
  for (const std::string name : {"train", "validation", "steps"}) {
    const std::vector<std::string> files = event_files_in(folder.file(name));
    ASSERT_EQ(files.size(), 2U) << name;
    const std::vector<events::Event> second = events_of(files[1]);
    EXPECT_EQ(second.at(0).session_log().status(), events::SessionLog::START) << name;
    EXPECT_EQ(graph_in(second).node_size() > 0, name == "train");
  }
  EXPECT_EQ(shown_points(folder.file("train"), "epoch_loss").size(), 2U);
  EXPECT_EQ(shown_points(folder.file("validation"), "epoch_loss").size(), 2U);
  const auto steps = shown_points(folder.file("steps"), "batch_loss");
  EXPECT_EQ(steps.size(), 4U);
  for (const auto& [step, values] : steps) EXPECT_EQ(values.size(), 1U) << step;
}

/// Cancels behind any step, and resumes without the newest checkpoint, from the one before: the
/// steps in between run twice.
TEST(TensorBoardCallback, AResumedTrainingGoesOnWithItsCurves) {
  const auto data = from_columns(points(96), 16) | shuffle({.buffer = 4, .seed = 3});
  const auto run = [&](const std::string& folder, std::int64_t last) {
    SmallTraining small;
    std::stop_source source;
    fit(small.training(), Slice::parse("v3-8"), data,
        {.epochs = 3,
         .resume_from = folder + "/checkpoints",
         .callbacks = {std::make_shared<TensorBoard>(
                           TensorBoardOptions{.folder = folder + "/logs", .every_steps = 2}),
                       std::make_shared<SaveCheckpoints>(SaveCheckpointsOptions{
                           .folder = folder + "/checkpoints",
                           .every_steps = 5,
                           .save = {.durability = Durability::leave_to_system}})},
         .stop = source.get_token(),
         .on_step = [&](std::int64_t step, const Metrics&) {
           if (step == last) source.request_stop();
         }});
  };
  const TemporaryFolder folder;
  run(folder.file("whole"), -1);
  const std::string whole = folder.file("whole/logs");
  const auto steps = shown_points(whole + "/steps", "batch_loss");
  const auto epochs = shown_points(whole + "/train", "epoch_loss");
  ASSERT_EQ(steps.size(), 9U);
  ASSERT_EQ(epochs.size(), 3U);
  for (std::int64_t stop_at = 1; stop_at < 18; ++stop_at) {
    const std::string killed = folder.file(fmt::format("killed-{}", stop_at));
    run(killed, stop_at);
    // As if it had been killed before this one.
    std::filesystem::remove_all(*latest_training_checkpoint(killed + "/checkpoints"));
    run(killed, -1);
    EXPECT_EQ(shown_points(killed + "/logs/steps", "batch_loss"), steps) << stop_at;
    EXPECT_EQ(shown_points(killed + "/logs/train", "epoch_loss"), epochs) << stop_at;
  }
}

/// Stops behind an epoch's last step. The process that goes on ends this epoch without a step, so
/// it has measured no waiting and applied no gradients in it, and writes no such points.
TEST(TensorBoardCallback, AnEpochWithoutAStepOfTheResumedProcessHasItsResultsOnly) {
  const TemporaryFolder folder;
  const auto run = [&](std::int64_t last) {
    SmallTraining small;
    std::stop_source source;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
        {.epochs = 3,
         .resume_from = folder.file("checkpoints"),
         .callbacks = {std::make_shared<TensorBoard>(TensorBoardOptions{
                           .folder = folder.file("logs"), .histograms_every_epochs = 1}),
                       std::make_shared<SaveCheckpoints>(
                           SaveCheckpointsOptions{.folder = folder.file("checkpoints")})},
         .stop = source.get_token(),
         .on_step = [&](std::int64_t step, const Metrics&) {
           if (step == last) source.request_stop();
         }});
  };
  run(2);
  run(-1);
  const std::string train = folder.file("logs/train");
  const auto epochs_of = [&](const std::string& tag) {
    std::vector<std::int64_t> epochs;
    for (const auto& [epoch, values] : shown_points(train, tag)) epochs.push_back(epoch);
    return epochs;
  };
  EXPECT_THAT(epochs_of("epoch_loss"), ElementsAre(0, 1, 2));
  EXPECT_THAT(epochs_of("weights/hidden/kernel"), ElementsAre(0, 1, 2));
  for (const char* const tag :
       {"host_infeed_wait", "slice_infeed_wait", "gradients/hidden/kernel"}) {
    EXPECT_THAT(epochs_of(tag), ElementsAre(1, 2)) << tag;
  }
}

}  // namespace
}  // namespace infeed
