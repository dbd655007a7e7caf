"""The models of device/nn/models.cc, without dropout, as functions of TensorFlow's operations."""

import tensorflow as tf

HEADS = 4
EPSILON = 1e-5
BATCH_NORM_EPSILON = 1e-3
BATCH_NORM_MOMENTUM = 0.9


def _dense(v, name, x):
    return tf.linalg.matmul(x, v[f"{name}/kernel"]) + v[f"{name}/bias"]


def _convolution(v, name, x):
    return tf.nn.conv2d(x, v[f"{name}/kernel"], 1, "SAME") + v[f"{name}/bias"]


def _norm(v, name, x):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + EPSILON) * v[f"{name}/gain"] + v[f"{name}/offset"]


def _attention(v, name, x):
    def heads(part):
        y = _dense(v, f"{name}/{part}", x)
        y = tf.reshape(y, [tf.shape(x)[0], x.shape[1], HEADS, x.shape[2] // HEADS])
        return tf.transpose(y, [0, 2, 1, 3])

    query, key, value = heads("query"), heads("key"), heads("value")
    weights = tf.nn.softmax(tf.linalg.matmul(query, key, transpose_b=True) / (query.shape[-1] ** 0.5))
    y = tf.transpose(tf.linalg.matmul(weights, value), [0, 2, 1, 3])
    return _dense(v, f"{name}/output", tf.reshape(y, tf.shape(x)))


def mlp(v, x):
    return _dense(v, "logits", tf.nn.relu(_dense(v, "hidden", x)))


def convnet(v, x):
    y = tf.reshape(x, [-1, 28, 28, 1])
    for name in ("convolution_1", "convolution_2"):
        y = tf.nn.max_pool2d(tf.nn.relu(_convolution(v, name, y)), 2, 2, "VALID")
    y = tf.nn.relu(_dense(v, "hidden", tf.reshape(y, [-1, 7 * 7 * 64])))
    return _dense(v, "logits", y)


def _normalised_convolution(v, name, x, stride=1):
    y = tf.nn.conv2d(x, v[f"{name}/convolution/kernel"], stride, "SAME")
    v[f"{name}/norm"](y, training=True)  # for its running statistics
    mean, variance = tf.nn.moments(y, [0, 1, 2])
    return tf.nn.batch_normalization(y, mean, variance, v[f"{name}/norm/offset"], v[f"{name}/norm/gain"],
                                     BATCH_NORM_EPSILON)


def resnet(v, x):
    y = tf.nn.relu(_normalised_convolution(v, "first", tf.reshape(x, [-1, 28, 28, 1])))
    for block, stride in (("block_1", 1), ("block_2", 2), ("block_3", 2)):
        inner = tf.nn.relu(_normalised_convolution(v, f"{block}/first", y, stride))
        inner = _normalised_convolution(v, f"{block}/second", inner)
        around = y if stride == 1 else _normalised_convolution(v, f"{block}/shortcut", y, stride)
        y = tf.nn.relu(around + inner)
    return _dense(v, "logits", tf.reduce_mean(y, [1, 2]))


def transformer(v, x):
    y = _dense(v, "rows", tf.reshape(x, [-1, 28, 28])) + v["positions/table"]
    for block in ("block_1", "block_2"):
        y += _attention(v, f"{block}/attention", _norm(v, f"{block}/norm_1", y))
        hidden = _dense(v, f"{block}/hidden", _norm(v, f"{block}/norm_2", y))
        y += _dense(v, f"{block}/output", tf.nn.gelu(hidden, approximate=False))
    return _dense(v, "logits", tf.reduce_mean(_norm(v, "norm", y), 1))


MODELS = {"mlp": mlp, "convnet": convnet, "resnet": resnet, "transformer": transformer}


def shapes(model):
    """Of its variables that are trained, by name."""
    if model == "mlp":
        return {**_dense_shapes("hidden", 784, 128), **_dense_shapes("logits", 128, 10)}
    if model == "convnet":
        return {"convolution_1/kernel": (3, 3, 1, 32), "convolution_1/bias": (32,),
                "convolution_2/kernel": (3, 3, 32, 64), "convolution_2/bias": (64,),
                **_dense_shapes("hidden", 7 * 7 * 64, 128), **_dense_shapes("logits", 128, 10)}
    if model == "resnet":
        all_of_them = {**_normalised_convolution_shapes("first", 1, 16), **_dense_shapes("logits", 64, 10)}
        for block, inputs, outputs in (("block_1", 16, 16), ("block_2", 16, 32), ("block_3", 32, 64)):
            all_of_them |= _normalised_convolution_shapes(f"{block}/first", inputs, outputs)
            all_of_them |= _normalised_convolution_shapes(f"{block}/second", outputs, outputs)
            if inputs != outputs:
                all_of_them |= _normalised_convolution_shapes(f"{block}/shortcut", inputs, outputs, 1)
        return all_of_them
    all_of_them = {**_dense_shapes("rows", 28, 64), "positions/table": (28, 64),
                   **_norm_shapes("norm", 64), **_dense_shapes("logits", 64, 10)}
    for block in ("block_1", "block_2"):
        for name in ("norm_1", "norm_2"):
            all_of_them |= _norm_shapes(f"{block}/{name}", 64)
        for part in ("query", "key", "value", "output"):
            all_of_them |= _dense_shapes(f"{block}/attention/{part}", 64, 64)
        all_of_them |= _dense_shapes(f"{block}/hidden", 64, 128)
        all_of_them |= _dense_shapes(f"{block}/output", 128, 64)
    return all_of_them


def batch_norms(model):
    """Keras's layers, by name: none of their weights are used, they keep running statistics."""
    suffix = "/gain"
    names = [name.removesuffix(suffix) for name in shapes(model) if model == "resnet" and name.endswith(suffix)]
    return {name: tf.keras.layers.BatchNormalization(momentum=BATCH_NORM_MOMENTUM) for name in names}


def _dense_shapes(name, inputs, outputs):
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _normalised_convolution_shapes(name, inputs, outputs, window=3):
    return {f"{name}/convolution/kernel": (window, window, inputs, outputs),
            **_norm_shapes(f"{name}/norm", outputs)}


def _norm_shapes(name, features):
    return {f"{name}/gain": (features,), f"{name}/offset": (features,)}
