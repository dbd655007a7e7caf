#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "infeed/device/cost_model.h"
#include "refuse.h"

namespace infeed {
namespace {

// A training step reads or writes each convolution's output about 8 times, mostly for batch
// normalisation and ReLU. This makes ResNets bound by HBM (the MXU alone would promise 2.2 to 2.7
// times their speed). Three of the 8 belong to the products and are counted there.
constexpr double kNormalisedPasses = 5;
constexpr double kActivationPasses = 2;  // bias and ReLU, forward and backward, fused

/// A product of all rows by the same weights, with a bias.
ModelOp dense_op(std::string name, std::int64_t rows, std::int64_t k, std::int64_t n,
                 double passes) {
  return {.name = std::move(name),
          .rows = rows,
          .k = k,
          .n = n,
          .input_elements = rows * k,
          .activation_passes = passes,
          .parameters = k * n + n};
}

/// Counts the products of all heads together, as one product with the rows of all heads.
void append_attention(std::vector<ModelOp>& ops, const std::string& prefix, std::int64_t words,
                      std::int64_t units, std::int64_t heads) {
  constexpr double kPasses = 5;  // softmax and dropout
  ops.push_back({.name = prefix + "scores",
                 .kind = OpKind::batched_product,
                 .rows = heads * words,
                 .k = units / heads,
                 .n = words,
                 .input_elements = 2 * words * units,
                 .activation_passes = kPasses});
  ops.push_back({.name = prefix + "context",
                 .kind = OpKind::batched_product,
                 .rows = heads * words,
                 .k = words,
                 .n = units / heads,
                 .input_elements = heads * words * words + words * units,
                 .activation_passes = 0});
}

/// Appends layers and tracks the image's size on the way through the network.
class Builder {
 public:
  Builder(std::int64_t size, std::int64_t channels) : size_(size), channels_(channels) {}

  Builder& conv(std::int64_t kernel, std::int64_t filters, std::int64_t stride = 1,
                double passes = kNormalisedPasses) {
    const std::int64_t out = (size_ + stride - 1) / stride;
    ops_.push_back({.name = fmt::format("conv{}x{}x{}-{}", kernel, kernel, channels_, filters),
                    .rows = out * out,
                    .k = kernel * kernel * channels_,
                    .n = filters,
                    .input_elements = size_ * size_ * channels_,
                    .needs_input_gradient = !ops_.empty(),
                    .activation_passes = passes,
                    .parameters = kernel * kernel * channels_ * filters + 2 * filters});
    size_ = out;
    channels_ = filters;
    return *this;
  }

  /// Adds a convolution without normalisation.
  Builder& plain(std::int64_t kernel, std::int64_t filters) {
    return conv(kernel, filters, 1, kActivationPasses);
  }
  Builder& pooled(std::int64_t kernel, std::int64_t filters) {
    return plain(kernel, filters).pool(2);
  }

  Builder& pool(std::int64_t stride) {
    size_ = (size_ + stride - 1) / stride;
    return *this;
  }

  Builder& dense(std::int64_t units) {
    const std::int64_t inputs = size_ * size_ * channels_;
    const bool is_first = ops_.empty();
    ops_.push_back(
        dense_op(fmt::format("dense{}-{}", inputs, units), 1, inputs, units, kActivationPasses));
    ops_.back().needs_input_gradient = !is_first;
    size_ = 1;
    channels_ = units;
    return *this;
  }

  /// Adds the 1x1 convolution of a block's shortcut; the builder's own position doesn't change.
  Builder& shortcut(std::int64_t size, std::int64_t channels) {
    Builder around(size, channels);
    around.ops_.push_back({});  // not the first layer of the model
    around.conv(1, channels_, size / size_);
    ops_.push_back(around.ops_.back());
    return *this;
  }

  std::int64_t size() const { return size_; }
  std::int64_t channels() const { return channels_; }
  std::vector<ModelOp> take() { return std::move(ops_); }

 private:
  std::int64_t size_;
  std::int64_t channels_;
  std::vector<ModelOp> ops_;
};

// He et al., CVPR 2016, table 1, with the stride in the 3x3 (v1.5, as MLPerf trains it).
std::vector<ModelOp> resnet50(std::int64_t size, std::int64_t channels, std::int64_t classes) {
  Builder net(size, channels);
  net.conv(7, 64, 2).pool(2);
  constexpr std::array<std::int64_t, 4> kBlocks = {3, 4, 6, 3};
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage, width *= 2) {
    for (std::int64_t block = 0; block < kBlocks[stage]; ++block) {
      const std::int64_t in_size = net.size();
      const std::int64_t in_channels = net.channels();
      net.conv(1, width).conv(3, width, block == 0 && stage > 0 ? 2 : 1).conv(1, 4 * width);
      if (block == 0) net.shortcut(in_size, in_channels);
    }
  }
  net.pool(net.size());
  return net.dense(classes).take();
}

// Zagoruyko and Komodakis, BMVC 2016: three groups of (depth - 4) / 6 basic blocks. `widen` = 1 is
// the CIFAR ResNet of He et al. with two more layers.
std::vector<ModelOp> wide_resnet(std::int64_t blocks_a_group, std::int64_t widen) {
  Builder net(28, 1);
  net.conv(3, 16);
  std::int64_t width = 16 * widen;
  for (std::int64_t group = 0; group < 3; ++group, width *= 2) {
    for (std::int64_t block = 0; block < blocks_a_group; ++block) {
      const std::int64_t in_size = net.size();
      const std::int64_t in_channels = net.channels();
      net.conv(3, width, block == 0 && group > 0 ? 2 : 1).conv(3, width);
      if (block == 0 && in_channels != width) net.shortcut(in_size, in_channels);
    }
  }
  net.pool(net.size());
  return net.dense(10).take();
}

// Devlin et al., NAACL 2019: 24 layers of 1024 units and 16 heads, sequences of 512 words of which
// 76 are predicted. Passes over outputs: 2 for a bias or an activation; 5 for softmax and dropout;
// 7 for bias, dropout, the sum with the block's input and layer normalisation, forward and
// backward.
std::vector<ModelOp> bert_large() {
  constexpr std::int64_t kUnits = 1024;
  constexpr std::int64_t kWords = 512;
  constexpr std::int64_t kHeads = 16;
  constexpr std::int64_t kPredicted = 76;
  constexpr std::int64_t kVocabulary = 30'522;
  constexpr double kLayerNormPasses = 7;
  std::vector<ModelOp> ops;
  const auto dense = [&ops](const char* name, std::int64_t k, std::int64_t n, double passes) {
    ops.push_back(dense_op(name, kWords, k, n, passes));
    if (passes == kLayerNormPasses) ops.back().parameters += 2 * kUnits;  // gain, offset
  };
  // The device gets the words' numbers. Their table is counted at the end.
  ops.push_back({.name = "embedding",
                 .kind = OpKind::gather,
                 .rows = kWords,
                 .n = kUnits,
                 .needs_input_gradient = false});
  for (int layer = 0; layer < 24; ++layer) {
    for (const char* name : {"query", "key", "value"}) {
      dense(name, kUnits, kUnits, kActivationPasses);
    }
    append_attention(ops, "", kWords, kUnits, kHeads);
    dense("attention", kUnits, kUnits, kLayerNormPasses);
    dense("wide", kUnits, 4 * kUnits, kActivationPasses);
    dense("narrow", 4 * kUnits, kUnits, kLayerNormPasses);
  }
  // The words' embeddings are also the last product's weights. With them come the positions' and
  // the two segments', their normalisation, and the layer before the prediction.
  ops.push_back({.name = "words",
                 .rows = kPredicted,
                 .k = kUnits,
                 .n = kVocabulary,
                 .input_elements = kPredicted * kUnits,
                 .activation_passes = 3,
                 .parameters = kVocabulary * kUnits + kVocabulary + kWords * kUnits + 4 * kUnits +
                               kUnits * kUnits + kUnits});
  return ops;
}

// Radford et al., 2019: layers that normalise first, sequences of 1024 words, each of which
// predicts the next. Normalisations are separate operations; the rest is fused with products,
// passes as in BERT.
std::vector<ModelOp> gpt2(std::int64_t layers, std::int64_t units, std::int64_t heads) {
  constexpr std::int64_t kWords = 1024;
  constexpr std::int64_t kVocabulary = 50'257;
  std::vector<ModelOp> ops;
  const auto norm = [&](std::string name) {
    ops.push_back({.name = std::move(name),
                   .kind = OpKind::normalisation,
                   .n = kWords * units,
                   .input_elements = kWords * units,
                   .activation_passes = 0,
                   .parameters = 2 * units});
  };
  const auto dense = [&](std::string name, std::int64_t k, std::int64_t n, double passes) {
    ops.push_back(dense_op(std::move(name), kWords, k, n, passes));
  };
  // The words' table is also the last product's weights, and is counted there only.
  ops.push_back({.name = "embedding",
                 .kind = OpKind::gather,
                 .rows = kWords,
                 .n = units,
                 .needs_input_gradient = false,
                 .parameters = kWords * units});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto named = [layer](std::string_view what) {
      return fmt::format("layer{}/{}", layer, what);
    };
    norm(named("norm1"));
    dense(named("query_key_value"), units, 3 * units, kActivationPasses);
    append_attention(ops, named(""), kWords, units, heads);
    dense(named("attention"), units, units, kActivationPasses + 1);  // and the sum with the block's
                                                                     // input
    norm(named("norm2"));
    dense(named("wide"), units, 4 * units, kActivationPasses);
    dense(named("narrow"), 4 * units, units, kActivationPasses + 1);
  }
  norm("norm");
  ops.push_back({.name = "words",
                 .rows = kWords,
                 .k = units,
                 .n = kVocabulary,
                 .input_elements = kWords * units,
                 .activation_passes = 3,
                 .parameters = kVocabulary * units});
  return ops;
}

// MLPerf's recommender of 2019 (Naumov et al., DLRM, on Criteo's terabyte): 26 tables whose rows
// are spread over the chips, a network for the numbers, the products of all pairs, a network on
// top.
std::vector<ModelOp> dlrm() {
  constexpr std::int64_t kUnits = 128;
  constexpr std::int64_t kTables = 26;
  constexpr std::int64_t kRows = 187'767'399;  // rows of all tables, capped at 40 million each
  constexpr std::int64_t kVectors = kTables + 1;
  constexpr std::int64_t kPairs = kVectors * (kVectors - 1) / 2;
  std::vector<ModelOp> ops;
  const auto dense = [&](std::string name, std::int64_t k, std::int64_t n) {
    ops.push_back(dense_op(std::move(name), 1, k, n, kActivationPasses));
  };
  ops.push_back({.name = "tables",
                 .kind = OpKind::gather,
                 .rows = kTables,
                 .n = kUnits,
                 .needs_input_gradient = false,
                 .parameters = kRows * kUnits,
                 .is_sharded = true});
  dense("bottom/dense1", 13, 512);
  ops.back().needs_input_gradient = false;
  dense("bottom/dense2", 512, 256);
  dense("bottom/dense3", 256, kUnits);
  ops.push_back({.name = "pairs",
                 .kind = OpKind::batched_product,
                 .rows = kVectors,
                 .k = kUnits,
                 .n = kVectors,
                 .input_elements = 2 * kVectors * kUnits});
  ops.push_back({.name = "concatenation",
                 .kind = OpKind::elementwise,
                 .n = kPairs + kUnits,
                 .input_elements = kVectors * kVectors + kUnits,
                 .activation_passes = 0});
  dense("top/dense1", kPairs + kUnits, 1024);
  dense("top/dense2", 1024, 1024);
  dense("top/dense3", 1024, 512);
  dense("top/dense4", 512, 256);
  dense("top/dense5", 256, 1);
  return ops;
}

struct KnownWorkload {
  std::string_view name;
  std::string_view description;
  std::vector<ModelOp> (*ops)();
};

constexpr std::array<KnownWorkload, 15> kKnown = {{
    {"classifier", "784-128-10 dense classifier on 28x28 grey images",
     [] { return Builder(28, 1).dense(128).dense(10).take(); }},
    {"lenet5", "LeNet-5 on 28x28 grey images",
     [] {
       return Builder(28, 1).pooled(5, 6).pooled(5, 16).dense(120).dense(84).dense(10).take();
     }},
    {"convnet", "two convolutions (32, 64) and a dense layer on 28x28 grey images",
     [] { return Builder(28, 1).pooled(3, 32).pooled(3, 64).dense(10).take(); }},
    // TensorFlow's tutorial "Deep MNIST for Experts"
    {"deep-mnist", "two 5x5 convolutions (32, 64) and dense layers (1024, 10) on 28x28 grey images",
     [] { return Builder(28, 1).pooled(5, 32).pooled(5, 64).dense(1024).dense(10).take(); }},
    // Keras' example mnist_cnn.py, with convolutions that keep the size
    {"keras-cnn",
     "two convolutions (32, 64) at full size and dense layers (128, 10) on 28x28 grey images",
     [] { return Builder(28, 1).plain(3, 32).pooled(3, 64).dense(128).dense(10).take(); }},
    {"vgg6", "four convolutions (64, 64, 128, 128) and two dense layers on 28x28 grey images",
     [] {
       Builder net(28, 1);
       net.plain(3, 64).pooled(3, 64).plain(3, 128).pooled(3, 128);
       return net.dense(256).dense(10).take();
     }},
    {"resnet20", "ResNet-20 on 28x28 grey images", [] { return wide_resnet(3, 1); }},
    {"wide-resnet-16-4", "Wide ResNet 16-4 on 28x28 grey images", [] { return wide_resnet(2, 4); }},
    {"wide-resnet-28-10", "Wide ResNet 28-10 on 28x28 grey images",
     [] { return wide_resnet(4, 10); }},
    {"resnet50-28", "ResNet-50 on 28x28 grey images", [] { return resnet50(28, 1, 10); }},
    {"resnet50", "ResNet-50 on 224x224 colour images", [] { return resnet50(224, 3, 1000); }},
    {"bert-large", "BERT-large on sequences of 512 words", bert_large},
    {"gpt2-small", "GPT-2 of 124 million on sequences of 1024 words",
     [] { return gpt2(12, 768, 12); }},
    {"gpt2-1.5b", "GPT-2 XL on sequences of 1024 words", [] { return gpt2(48, 1600, 25); }},
    {"dlrm", "DLRM: 26 tables of 188 million rows in all, and dense networks", dlrm},
}};

constexpr std::array<std::string_view, kKnown.size()> kNames = [] {
  std::array<std::string_view, kKnown.size()> names;
  std::ranges::transform(kKnown, names.begin(), &KnownWorkload::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> workload_names() { return kNames; }

Workload workload(std::string_view name) {
  const auto known = std::ranges::find(kKnown, name, &KnownWorkload::name);
  if (known == kKnown.end()) {
    detail::refuse("unknown workload '{}'; known: {}", name, fmt::join(kNames, ", "));
  }
  return {std::string(name), std::string(known->description), known->ops()};
}

}  // namespace infeed
