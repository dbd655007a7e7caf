#include "infeed/device/model_checkpoint.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

namespace infeed {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are stored as they lie in memory");

constexpr std::string_view kMagic = "infeed.model:";
constexpr int kVersion = 1;
constexpr std::array<std::string_view, 3> kActivations = {"linear", "relu", "softmax"};

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string header_of(const ModelSpec& spec, const Adam& adam) {
  std::string text = fmt::format("{}{}\ninputs {}\n", kMagic, kVersion, spec.input_features);
  for (const DenseLayer& layer : spec.layers) {
    text += fmt::format("layer {} {}\n", layer.units,
                        kActivations.at(static_cast<std::size_t>(layer.activation)));
  }
  const AdamOptions& options = adam.options();
  return text + fmt::format("adam {} {} {} {} {}\n", adam.steps(), options.learning_rate,
                            options.beta_1, options.beta_2, options.epsilon);
}

Error damaged(const std::string& file, std::string message) {
  return Error(ErrorCode::data_loss,
               "not a whole model checkpoint: " + std::move(message) + "; take an older one")
      .at_file(file);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename Number>
bool parse(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

struct Header {
  ModelSpec spec;
  std::int64_t steps = -1;
  AdamOptions adam;
};

bool parse_line(std::string_view line, Header& header) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() == 2 && words[0] == "inputs") {
    return parse(words[1], header.spec.input_features);
  }
  if (words.size() == 3 && words[0] == "layer") {
    DenseLayer& layer = header.spec.layers.emplace_back();
    for (std::size_t i = 0; i < kActivations.size(); ++i) {
      if (kActivations[i] != words[2]) continue;
      layer.activation = static_cast<Activation>(i);
      return parse(words[1], layer.units);
    }
    return false;
  }
  return words.size() == 6 && words[0] == "adam" && parse(words[1], header.steps) &&
         parse(words[2], header.adam.learning_rate) && parse(words[3], header.adam.beta_1) &&
         parse(words[4], header.adam.beta_2) && parse(words[5], header.adam.epsilon);
}

Header parse_header(const std::string& file, std::string_view text) {
  if (!text.starts_with(kMagic)) {
    throw damaged(file, fmt::format("its first record does not start with '{}'", kMagic));
  }
  Header header;
  for (int number = 0; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    int version = 0;
    if (number == 0) {
      if (!parse(line.substr(kMagic.size()), version)) {
        throw damaged(file, fmt::format("unknown version '{}'", line));
      }
      if (version != kVersion) {
        throw Error(ErrorCode::failed_precondition,
                    fmt::format("model checkpoint of format version {}; this program reads version "
                                "{}, use the one that wrote it",
                                version, kVersion))
            .at_file(file);
      }
    } else if (!parse_line(line, header)) {
      throw damaged(file, fmt::format("line {} of its header is '{}'", number + 1, line));
    }
  }
  if (header.steps < 0) throw damaged(file, "its header has no line 'adam'");
  return header;
}

/// The next record must hold exactly the values of `what`.
void read_values(RecordReader& reader, const std::string& file, std::string_view what,
                 std::span<float> values) {
  Record record;
  if (!reader.next(record)) {
    throw damaged(file, fmt::format("it ends before the record of {}", what));
  }
  if (record.size() != values.size_bytes()) {
    throw damaged(file, fmt::format("the record of {} has {} bytes, expected {}", what,
                                    record.size(), values.size_bytes()));
  }
  std::memcpy(values.data(), record.bytes().data(), values.size_bytes());
}

/// Each parameter lies there three times (itself and two moments); so what a header claims is held
/// against the file before memory is taken for it. Nothing packs more than 1032 times (deflate).
void require_as_long_as(const ModelSpec& spec, const RecordReader& reader,
                        const std::string& file) {
  constexpr std::uint64_t kParameterBytes = 3 * sizeof(float);
  constexpr std::uint64_t kCheapParameters = 65'536;  // reading on says what is missing
  constexpr std::uint64_t kPackedMost = 1032;
  if (!reader.file_bytes()) return;
  const bool is_plain = reader.compression() == Compression::none;
  const std::uint64_t parameters_max =
      *reader.file_bytes() / kParameterBytes * (is_plain ? 1 : kPackedMost) + kCheapParameters;
  std::uint64_t left = parameters_max;
  auto inputs = static_cast<std::uint64_t>(spec.input_features);
  for (const DenseLayer& layer : spec.layers) {
    const auto units = static_cast<std::uint64_t>(layer.units);
    if (units != 0 && inputs + 1 > left / units) {
      throw damaged(file, fmt::format("its header names more parameters than the {} that its {} "
                                      "bytes can hold",
                                      parameters_max - kCheapParameters, *reader.file_bytes()));
    }
    left -= (inputs + 1) * units;
    inputs = units;
  }
}

}  // namespace

void save_model_checkpoint(const std::string& file, const DenseModel& model,
                           const Adam& optimizer) {
  if (optimizer.first_moments().size() != model.parameters().size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("optimizer state of {} elements for a model of {}",
                            optimizer.first_moments().size(), model.parameters().size()));
  }
  RecordWriter writer(file, {.existing = ExistingFile::replace, .durability = Durability::synced});
  writer.write(header_of(model.spec(), optimizer));
  for (const ParameterTensor& tensor : model.tensors()) {
    writer.write(bytes_of(model.parameters().subspan(static_cast<std::size_t>(tensor.offset),
                                                     static_cast<std::size_t>(tensor.size))));
  }
  writer.write(bytes_of(optimizer.first_moments()));
  writer.write(bytes_of(optimizer.second_moments()));
  writer.close();
}

ModelCheckpoint load_model_checkpoint(const std::string& file) {
  RecordReader reader(file);
  Record first;
  if (!reader.next(first)) throw damaged(file, "it is empty");
  const Header header = parse_header(file, first.bytes());
  try {
    header.spec.check();
    Adam(0, header.adam);
  } catch (const Error& error) {
    throw damaged(file, error.message());
  }
  require_as_long_as(header.spec, reader, file);
  DenseModel model(header.spec);
  for (const ParameterTensor& tensor : model.tensors()) {
    read_values(reader, file, tensor.name,
                model.parameters().subspan(static_cast<std::size_t>(tensor.offset),
                                           static_cast<std::size_t>(tensor.size)));
  }
  std::vector<float> first_moments(model.parameters().size());
  std::vector<float> second_moments(model.parameters().size());
  read_values(reader, file, "Adam's first moments", first_moments);
  read_values(reader, file, "Adam's second moments", second_moments);
  if (Record more; reader.next(more)) throw damaged(file, "there are more records than expected");
  Adam adam(static_cast<std::int64_t>(first_moments.size()), header.adam);
  adam.restore(header.steps, std::move(first_moments), std::move(second_moments));
  return {.model = std::move(model), .optimizer = std::move(adam)};
}

}  // namespace infeed
