#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/device/losses.h>
#include <infeed/device/models.h>
#include <infeed/device/optimizers.h>

// Trains a model on the batches of a folder, for the Python tests to do the same.
//
//   infeed_training MODEL FOLDER BATCH RATE   MODEL: mlp, convnet, resnet, transformer (without dropout)
//
// images.f32 holds the pixels of all steps' examples, 784 each, labels.i32 their labels. Writes the
// first values of each variable that is trained as FOLDER/NAME.f32, with dots for the slashes of its name, the
// last ones of those that no gradient moves (running statistics) into FOLDER/after, and prints a line a step: the
// loss before it.
namespace {

constexpr std::int64_t kPixels = 784;
constexpr double kMomentum = 0.9;

template <class T>
std::vector<T> read_all(const std::filesystem::path& file) {
  std::vector<T> values(std::filesystem::file_size(file) / sizeof(T));
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!stream) throw std::runtime_error(file.string() + " can't be read");
  return values;
}

void write_variables(const std::vector<infeed::Variable>& variables, bool trained,
                     const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const infeed::Variable& variable : variables) {
    if (variable.trainable() != trained) continue;
    std::string name = variable.name();
    std::ranges::replace(name, '/', '.');
    const infeed::Tensor value = variable.value();
    std::ofstream stream(folder / (name + ".f32"), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(value.data()),
                 static_cast<std::streamsize>(value.bytes()));
    if (!stream) throw std::runtime_error(name + " can't be written");
  }
}

infeed::nn::Sequential model_without_dropout(const std::string& name, const infeed::Scope& scope) {
  if (name == "mlp") return infeed::nn::mlp(scope);
  if (name == "convnet") return infeed::nn::convnet(scope, 0);
  if (name == "resnet") return infeed::nn::resnet(scope);
  if (name == "transformer") return infeed::nn::transformer(scope, 0);
  throw std::runtime_error("there is no model " + name);
}

void train(const std::string& name, const std::filesystem::path& folder, std::int64_t batch,
           double rate) {
  namespace nn = infeed::nn;
  const auto images = read_all<float>(folder / "images.f32");
  const auto labels = read_all<std::int32_t>(folder / "labels.i32");
  infeed::Scope scope({.seed = 11});
  const nn::Sequential model = model_without_dropout(name, scope);
  const std::vector<infeed::Variable> variables = scope.variables();  // the model's
  write_variables(variables, true, folder);
  nn::Sgd optimizer(scope.below("sgd"), variables,
                    {.rate = nn::constant_rate(rate), .momentum = kMomentum});
  const infeed::Tensor all =
      infeed::Tensor::copy_of<float>({static_cast<std::int64_t>(labels.size()), kPixels}, images);
  const auto size = static_cast<std::size_t>(batch);
  for (std::size_t first = 0; first + size <= labels.size(); first += size) {
    infeed::Gradients gradients;
    {
      infeed::Tape tape({.training = true});
      const infeed::TapeValue logits =
          model.apply(tape, tape.constant(all.slice(static_cast<std::int64_t>(first), batch)));
      const infeed::TapeValue loss = nn::average_loss(
          tape, nn::softmax_cross_entropy(tape, logits, std::span(labels).subspan(first, size)),
          batch);
      fmt::print("{}\n", loss.item());
      gradients = tape.gradients(loss);
      for (auto [variable, value] : tape.updates()) variable.assign(value);
    }
    optimizer.apply(gradients);
  }
  write_variables(variables, false, folder / "after");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: infeed_training MODEL FOLDER BATCH RATE\n");
    return 2;
  }
  try {
    train(argv[1], argv[2], std::atoll(argv[3]), std::atof(argv[4]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
