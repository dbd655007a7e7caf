#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <infeed/device/layers.h>
#include <infeed/device/schedule.h>

/// Why: small networks that two cores train in minutes, for images of 28 x 28 pixels (MNIST,
/// Fashion-MNIST) in ten classes.
///
///     infeed::Scope scope({.seed = 42});
///     std::shared_ptr<const infeed::nn::Layer> model = infeed::nn::model_named("convnet", scope);
///     infeed::Tape tape({.training = true});
///     infeed::TapeValue pixels = tape.constant(infeed::Tensor(infeed::DType::float32, {128, 784}));
///     infeed::TapeValue logits = model->apply(tape, pixels);     // [128, 10]
///
/// All take [examples, ...] with 784 items an example, 0 to 1, and give [examples, 10].
namespace infeed::nn {

/// Dense layers of 128 and 10.
Sequential mlp(const Scope& scope);
/// Two convolutions of 32 and 64 channels with pooling, dense layers of 128 and 10.
Sequential convnet(const Scope& scope, double dropout_rate = 0.25);
/// A convolution of 16 channels and three residual blocks of 16, 32 and 64, batch norms behind all
/// convolutions, a dense layer of 10 on the average pixel (He et al., CVPR 2016, with one block a
/// stage).
Sequential resnet(const Scope& scope);
/// Two 3 x 3 convolutions, each before a batch norm, around a residual. Where `out` or `stride`
/// changes the shape, the shortcut is a 1 x 1 convolution.
Sequential residual_block(const Scope& scope, std::int64_t in, std::int64_t out,
                          std::int64_t stride);
/// Each row of pixels is a token; two blocks of attention, 64 features in 4 heads.
Sequential transformer(const Scope& scope, double dropout_rate = 0.1);
/// Self-attention and two dense layers (GELU), each behind a layer norm and around a residual.
Sequential transformer_block(const Scope& scope, std::int64_t features, std::int64_t heads,
                             std::int64_t hidden, double dropout_rate = 0);

/// "mlp", "convnet", "resnet", "transformer".
std::span<const std::string_view> model_names();
/// Returns the schedule for Adam over so many steps of 128 examples: the first tenth, 200 at most,
/// warms up; then half a cosine goes down to a fiftieth.
Schedule rate_for_model(std::string_view name, std::uint64_t steps);
/// Throws invalid_argument that lists the names, as rate_for_model() does.
std::shared_ptr<const Layer> model_named(std::string_view name, const Scope& scope);

}  // namespace infeed::nn
