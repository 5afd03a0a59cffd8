"""Models of Keras 3 with its JAX backend: layers and stateless calls, as in its guide to custom training."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import jax  # noqa: E402
import keras  # noqa: E402
from keras import layers as L  # noqa: E402
from keras import ops  # noqa: E402

from building import Draw, integers, mean_token_loss, to, tokens  # noqa: E402
from catalog import add, step  # noqa: E402

IMAGE = (8, 8, 3)


def built(make):
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    return make()


def values(variables, dtype):
    return to(dtype, [v.value for v in variables])


def loss_of(model, dtype):
    """(loss of (parameters, state, x, label), parameters, state) of a model of logits."""
    def loss(params, state, x, label):
        logits, state = model.stateless_call(params, state, x, training=bool(state))
        return mean_token_loss(logits.astype(x.dtype) if x.dtype != "int32" else logits, label), state
    return loss, values(model.trainable_variables, dtype), values(model.non_trainable_variables, dtype)


def classifier(*parts, shape=(8,), batch=4, classes=4):
    """A maker of a sequential model; state, such as that of batch norm, is a further result."""
    def make(dtype):
        model = built(lambda: keras.Sequential([keras.Input(shape), *[part() for part in parts], L.Dense(classes)]))
        for layer in model.layers:
            layer.autocast = False
        loss, params, state = loss_of(model, dtype)
        n = Draw(dtype)
        batches = n(batch, *shape, scale=1.0), integers(classes, batch)
        if not state:
            return jax.value_and_grad(lambda params, x, label: loss(params, [], x, label)[0]), (params, *batches)
        return jax.value_and_grad(loss, has_aux=True), (params, state, *batches), {"roles": {"state": "constant"}}
    return make


SEQUENCE = dict(shape=(6, 8), batch=3)
PICTURE = dict(shape=IMAGE, batch=3)
MODELS = {
    "mlp": classifier(lambda: L.Dense(16, "relu"), lambda: L.Dense(16, "gelu")),
    "cnn": classifier(lambda: L.Conv2D(8, 3, activation="relu"), lambda: L.MaxPooling2D(), L.Flatten, **PICTURE),
    "separable": classifier(lambda: L.SeparableConv2D(8, 3, padding="same"), lambda: L.DepthwiseConv2D(3), L.ReLU,
                            L.GlobalAveragePooling2D, **PICTURE),
    "batch-norm": classifier(lambda: L.Conv2D(8, 3), L.BatchNormalization, L.ReLU, L.GlobalMaxPooling2D, **PICTURE),
    "layer-norm": classifier(lambda: L.Dense(16), L.LayerNormalization, lambda: L.Activation("silu")),
    "group-unit-norm": classifier(lambda: L.Conv2D(8, 3), lambda: L.GroupNormalization(4), L.Flatten, L.UnitNormalization, **PICTURE),
    "rms-norm": classifier(lambda: L.Dense(16), L.RMSNormalization, L.LeakyReLU),
    "conv-transpose": classifier(lambda: L.Conv2D(8, 3, 2, padding="same"), L.ELU, lambda: L.Conv2DTranspose(4, 3, 2, padding="same"),
                                 lambda: L.UpSampling2D(), L.GlobalAveragePooling2D, **PICTURE),
    "conv1d-causal": classifier(lambda: L.Conv1D(8, 3, padding="causal", dilation_rate=2), L.PReLU, L.GlobalAveragePooling1D, **SEQUENCE),
    "average-pool-padding": classifier(lambda: L.ZeroPadding2D(), lambda: L.AveragePooling2D(2), lambda: L.Cropping2D(1),
                                       L.Flatten, **PICTURE),
    "lstm": classifier(lambda: L.LSTM(16), **SEQUENCE),
    "gru": classifier(lambda: L.GRU(16), **SEQUENCE),
    "simple-rnn-bidirectional": classifier(lambda: L.Bidirectional(L.SimpleRNN(8)), **SEQUENCE),
    "conv-lstm": classifier(lambda: L.ConvLSTM1D(4, 3), L.Flatten, shape=(3, 6, 2), batch=2),
    "time-distributed": classifier(lambda: L.TimeDistributed(L.Dense(8, "tanh")), L.GlobalMaxPooling1D, **SEQUENCE),
    "einsum-dense": classifier(lambda: L.EinsumDense("abc,cd->abd", (6, 8), bias_axes="d", activation="relu"), L.Flatten, **SEQUENCE),
    "locally-reshaped": classifier(lambda: L.Reshape((2, 4)), lambda: L.Permute((2, 1)), L.Flatten, lambda: L.RepeatVector(3), L.Flatten, lambda: L.Dense(8, "tanh")),
    "spectral-norm-free-softmax": classifier(lambda: L.Dense(16, "selu"), L.Softmax),
}
for name, make in MODELS.items():
    add(f"keras/{name}", make)


def functional(make_model, *, shape=IMAGE, batch=3):
    def make(dtype):
        model = built(make_model)
        for layer in model.layers:
            layer.autocast = False
        loss, params, state = loss_of(model, dtype)
        x = Draw(dtype)(batch, *shape, scale=1.0)
        arguments = (params, state, x, integers(4, batch))
        if not state:
            return jax.value_and_grad(lambda params, x, label: loss(params, [], x, label)[0]), (params, *arguments[2:])
        return jax.value_and_grad(loss, has_aux=True), arguments, {"roles": {"state": "constant"}}
    return make


def residual_net():
    x = inputs = keras.Input(IMAGE)
    x = L.Conv2D(8, 3, padding="same")(x)
    for _ in range(2):
        h = L.BatchNormalization()(L.Conv2D(8, 3, padding="same", use_bias=False)(L.ReLU()(x)))
        x = L.Add()([x, h])
    return keras.Model(inputs, L.Dense(4)(L.GlobalAveragePooling2D()(x)))


def unet():
    x = inputs = keras.Input(IMAGE)
    a = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(16, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
    x = L.Concatenate()([L.UpSampling2D()(b), a])
    x = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, L.Dense(4)(L.Flatten()(L.Conv2D(2, 1)(x))))


def encoder():
    x = inputs = keras.Input((6, 16))
    for _ in range(2):
        x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 8)(x, x))
        x = L.LayerNormalization()(x + L.Dense(16)(L.Dense(32, "gelu")(x)))
    return keras.Model(inputs, L.Dense(4)(L.GlobalAveragePooling1D()(x)))


def grouped():
    x = inputs = keras.Input((6, 16))
    x = x + L.GroupQueryAttention(8, 4, 2)(x, x, use_causal_mask=True)
    return keras.Model(inputs, L.Dense(4)(L.Flatten()(x)))


def additive():
    x = inputs = keras.Input((6, 16))
    x = L.Attention()([x, L.Dense(16)(x)]) + L.AdditiveAttention()([x, x])
    return keras.Model(inputs, L.Dense(4)(L.GlobalAveragePooling1D()(x)))


add("keras/residual-net", functional(residual_net))
add("keras/unet", functional(unet))
add("keras/transformer-encoder", functional(encoder, shape=(6, 16)))
add("keras/grouped-query-attention", functional(grouped, shape=(6, 16)))
add("keras/additive-attention", functional(additive, shape=(6, 16)))


@step("keras/embedding-language-model")
def language_model(dtype):
    def make():
        ids = keras.Input((8,), dtype="int32")
        x = L.Embedding(24, 16)(ids)
        x = x + L.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True)
        return keras.Model(ids, L.Dense(24)(L.LayerNormalization()(x)))
    model = built(make)
    for layer in model.layers:
        layer.autocast = False
    params = values(model.trainable_variables, dtype)

    def loss(params, ids, targets):
        return mean_token_loss(model.stateless_call(params, [], ids)[0], targets)
    return jax.value_and_grad(loss), (params, *tokens(24, 2, 8))


@step("keras/losses")
def losses(dtype):
    """Several of the library's losses and its ops."""
    def make():
        return keras.Sequential([keras.Input((8,)), L.Dense(16, "tanh"), L.Dense(4)])
    model = built(make)
    for layer in model.layers:
        layer.autocast = False
    params, n = values(model.trainable_variables, dtype), Draw(dtype)

    def loss(params, x, y, label):
        made = model.stateless_call(params, [], x)[0]
        return (ops.mean(keras.losses.huber(y, made)) + ops.mean(keras.losses.log_cosh(y, made))
                + ops.mean(keras.losses.sparse_categorical_crossentropy(label, made, from_logits=True))
                + ops.mean(keras.losses.cosine_similarity(y, made)) + ops.mean(keras.losses.squared_hinge(ops.sign(y), made)))
    return jax.value_and_grad(loss), (params, n(5, 8, scale=1.0), n(5, 4, scale=1.0), integers(4, 5))
