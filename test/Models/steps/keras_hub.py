"""Small backbones of KerasHub; nothing is downloaded."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import jax  # noqa: E402
import keras_hub  # noqa: E402
import numpy as np  # noqa: E402

from building import Draw, integers, to  # noqa: E402
from catalog import add  # noqa: E402
from steps.keras import built, values  # noqa: E402

M = keras_hub.models
SMALL = dict(vocabulary_size=40, num_layers=2, hidden_dim=32, intermediate_dim=48)
LLAMA = dict(**SMALL, num_query_heads=4, num_key_value_heads=2)
BERT = dict(**SMALL, num_heads=4, max_sequence_length=16, dropout=0.0)


def text(**more):
    """A batch of tokens with padding, with the backbones' names."""
    mask = (np.arange(10) < np.array([10, 7, 9])[:, None]).astype(np.int32)
    return {"token_ids": integers(40, 3, 10), "padding_mask": mask, **more}


def backbone(make_model, batch):
    """A maker of a loss on a backbone's values."""
    def make(dtype):
        model = built(make_model)
        for layer in model._flatten_layers():
            layer.autocast = False
        params, state = values(model.trainable_variables, dtype), values(model.non_trainable_variables, dtype)
        inputs = to(dtype, batch(Draw(dtype)))

        def loss(params, inputs):
            out, _ = model.stateless_call(params, state, inputs, training=False)
            return sum((leaf ** 2).mean() for leaf in jax.tree.leaves(out) if leaf.dtype != bool)
        return jax.value_and_grad(loss), (params, inputs)
    return make


def words(make_model, **more):
    return backbone(make_model, lambda n: text(**more))


def pair(_n):
    a = text()
    return {"encoder_token_ids": a["token_ids"], "encoder_padding_mask": a["padding_mask"],
            "decoder_token_ids": integers(40, 3, 6, seed=3), "decoder_padding_mask": np.ones((3, 6), np.int32)}


SEGMENTS = dict(segment_ids=np.zeros((3, 10), np.int32))
BACKBONES = {
    "gpt2": words(lambda: M.GPT2Backbone(**BERT)),
    "gpt-neox": words(lambda: M.GPTNeoXBackbone(**BERT)),
    "opt": words(lambda: M.OPTBackbone(**BERT)),
    "bloom": words(lambda: M.BloomBackbone(**SMALL, num_heads=4, dropout=0.0)),
    "falcon": words(lambda: M.FalconBackbone(**SMALL, num_attention_heads=4, attention_dropout_rate=0.0, feedforward_dropout_rate=0.0)),
    "llama": words(lambda: M.LlamaBackbone(**LLAMA)),
    "llama3": words(lambda: M.Llama3Backbone(**LLAMA)),
    "mistral": words(lambda: M.MistralBackbone(**LLAMA, sliding_window=4)),
    "mixtral": words(lambda: M.MixtralBackbone(**LLAMA, num_experts=4, top_k=2, sliding_window=8)),
    "qwen2": words(lambda: M.Qwen2Backbone(**LLAMA)),
    "qwen3": words(lambda: M.Qwen3Backbone(**LLAMA, head_dim=8)),
    "phi3": words(lambda: M.Phi3Backbone(**LLAMA)),
    "gemma": words(lambda: M.GemmaBackbone(**LLAMA, head_dim=8)),
    "gemma2": words(lambda: M.GemmaBackbone(**LLAMA, head_dim=8, use_post_ffw_norm=True, use_post_attention_norm=True,
                                            final_logit_soft_cap=30, attention_logit_soft_cap=50, sliding_window_size=4,
                                            use_sliding_window_attention=True)),
    "bert-pooled": words(lambda: M.BertBackbone(**BERT), **SEGMENTS),
    "albert": words(lambda: M.AlbertBackbone(vocabulary_size=40, num_layers=2, num_heads=4, embedding_dim=16, hidden_dim=32,
                                             intermediate_dim=48, max_sequence_length=16, dropout=0.0), **SEGMENTS),
    "roberta": words(lambda: M.RobertaBackbone(**BERT)),
    "distil-bert": words(lambda: M.DistilBertBackbone(**BERT)),
    "electra": words(lambda: M.ElectraBackbone(vocab_size=40, num_layers=2, num_heads=4, hidden_dim=32, embedding_dim=16,
                                               intermediate_dim=48, max_sequence_length=16, dropout=0.0), **SEGMENTS),
    "deberta-v3": words(lambda: M.DebertaV3Backbone(**BERT, bucket_size=8)),
    "f-net": words(lambda: M.FNetBackbone(**{k: v for k, v in BERT.items() if k != "num_heads"}), **SEGMENTS),
    "t5": backbone(lambda: M.T5Backbone(**SMALL, num_heads=4, dropout=0.0), pair),
    "bart": backbone(lambda: M.BartBackbone(**BERT), pair),
    "vit": backbone(lambda: M.ViTBackbone((16, 16, 3), 4, 2, 4, 32, 48), lambda n: n(2, 16, 16, 3, scale=1.0)),
    "vgg": backbone(lambda: M.VGGBackbone([1, 1], [8, 16], (16, 16, 3)), lambda n: n(2, 16, 16, 3, scale=1.0)),
    "resnet": backbone(lambda: M.ResNetBackbone([64], [3], [64, 128], [1, 1], [1, 2], "basic_block", image_shape=(16, 16, 3)),
                       lambda n: n(2, 16, 16, 3, scale=1.0)),
}
for name, make in BACKBONES.items():
    extra = dict(refused=r"complex numbers are not supported", dtypes=("float32",), stages=("1",)) if name == "f-net" else {}
    add(f"keras-hub/{name}", make, **extra)
