"""Models of HuggingFace transformers in Flax, small and built from configurations; nothing is downloaded."""

import inspect
import types

import jax
import jax.numpy as jnp
import numpy as np
import transformers as hf
from transformers.models.t5 import modeling_flax_t5 as t5

from building import Draw, integers, mean_token_loss, to, tokens
from catalog import add

# The library's T5 is written for a version of JAX in which the bounds of `clip` had other names.
t5.jnp = types.SimpleNamespace(**{**vars(jnp), "clip": lambda x, a_min=None, a_max=None: jnp.clip(x, a_min, a_max)})

SIZES = dict(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
             max_position_embeddings=16)
GPT = dict(vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=16)
SEQ2SEQ = dict(vocab_size=40, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=16)
T5_SIZES = dict(vocab_size=40, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
OFF = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
IMAGE = dict(image_size=8, patch_size=4, num_channels=3, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=48)


def built(model, config, dtype, **more):
    """(module, parameters in the type): random weights by the library, the same for all types."""
    made = model(config, dtype=jnp.dtype(dtype), seed=0, **more)
    return made.module, to(dtype, jax.tree.map(np.asarray, made.params))


def causal(model, config, **about):
    """A maker of the next-token loss of a language model."""
    def make(dtype):
        module, params = built(model, config(**about), dtype)
        ids, targets = tokens(40, 2, 10)
        mask, positions = jnp.ones((2, 10), jnp.int32), jnp.broadcast_to(jnp.arange(10), (2, 10))

        def loss(params, ids, targets):
            return mean_token_loss(module.apply({"params": params}, ids, mask, positions).logits, targets)
        return jax.value_and_grad(loss), (params, ids, targets)
    return make


def masked(model, config, task="tokens", **about):
    """A maker of an encoder with a padding mask: a loss of tokens, of a class, or of the pooled values."""
    def make(dtype):
        module, params = built(model, config(**about), dtype)
        ids, targets = tokens(40, 3, 10)
        mask = (np.arange(10) < np.array([10, 6, 8])[:, None]).astype(np.int32)
        rest = (jnp.zeros((3, 10), jnp.int32), jnp.broadcast_to(jnp.arange(10), (3, 10)))
        more = dict(zip(("token_type_ids", "position_ids"), rest)) if task != "distil" else {}
        if "head_mask" in inspect.signature(module.__call__).parameters:
            more["head_mask"] = None

        def loss(params, ids, mask, targets):
            out = module.apply({"params": params}, ids, mask, **more)
            if task == "pooled":
                return (out.pooler_output ** 2).mean()
            return mean_token_loss(out.logits, targets if out.logits.ndim == 3 else targets[:, 0] % out.logits.shape[-1])
        return jax.value_and_grad(loss), (params, ids, mask, targets)
    return make


def translator(model, config, **about):
    """A maker of an encoder-decoder's loss."""
    def make(dtype):
        made = model(config(**about), dtype=jnp.dtype(dtype), seed=0)
        params = to(dtype, jax.tree.map(np.asarray, made.params))
        source, (ids, targets) = integers(40, 2, 7, seed=4), tokens(40, 2, 6)

        def loss(params, source, ids, targets):
            return mean_token_loss(made(source, decoder_input_ids=ids, params=params, train=False).logits, targets)
        return jax.value_and_grad(loss), (params, source, ids, targets)
    return make


def picture(model, config, **about):
    def make(dtype):
        made = model(config(**about), dtype=jnp.dtype(dtype), seed=0, input_shape=(1, 8, 8, 3))
        params = to(dtype, jax.tree.map(np.asarray, made.params))

        def loss(params, x, label):
            return mean_token_loss(made(x, params=params, train=False).logits, label)
        return jax.value_and_grad(loss), (params, Draw(dtype)(3, 3, 8, 8, scale=1.0), integers(2, 3))
    return make


def whisper(dtype):
    config = hf.WhisperConfig(**SEQ2SEQ, num_mel_bins=8, max_source_positions=8, max_target_positions=10, pad_token_id=0,
                              bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, dropout=0.0)
    made = hf.FlaxWhisperForConditionalGeneration(config, dtype=jnp.dtype(dtype), seed=0, input_shape=(1, 8, 16))
    params = to(dtype, jax.tree.map(np.asarray, made.params))

    def loss(params, sound, ids, targets):
        return mean_token_loss(made(sound, decoder_input_ids=ids, params=params, train=False).logits, targets)
    return jax.value_and_grad(loss), (params, Draw(dtype)(2, 8, 16, scale=1.0), *tokens(40, 2, 6))


def wav2vec2(dtype):
    config = hf.Wav2Vec2Config(**{k: v for k, v in SIZES.items() if k != "max_position_embeddings"}, conv_dim=(16, 16), conv_stride=(4, 2),
                               conv_kernel=(8, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=4,
                               num_conv_pos_embedding_groups=2, do_stable_layer_norm=True, feat_extract_norm="layer",
                               mask_time_prob=0.0, layerdrop=0.0)
    made = hf.FlaxWav2Vec2ForCTC(config, dtype=jnp.dtype(dtype), seed=0, input_shape=(1, 128))
    params = to(dtype, jax.tree.map(np.asarray, made.params))

    def loss(params, sound):
        return (jax.nn.log_softmax(made(sound, params=params, train=False).logits)[..., :5] ** 2).mean()
    return jax.value_and_grad(loss), (params, Draw(dtype)(2, 128, scale=1.0))


def clip(dtype):
    config = hf.CLIPConfig(text_config={**SIZES, "eos_token_id": 39}, vision_config={**IMAGE, "projection_dim": 16}, projection_dim=16)
    made = hf.FlaxCLIPModel(config, dtype=jnp.dtype(dtype), seed=0, input_shape=((1, 6), (1, 8, 8, 3)))
    params = to(dtype, jax.tree.map(np.asarray, made.params))

    def loss(params, ids, x):
        logits = made(ids, x, params=params, train=False).logits_per_text
        return mean_token_loss(logits, jnp.arange(3)) + mean_token_loss(logits.T, jnp.arange(3))
    return jax.value_and_grad(loss), (params, integers(39, 3, 6), Draw(dtype)(3, 3, 8, 8, scale=1.0))


def resnet(dtype):
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=2)
    made = hf.FlaxResNetForImageClassification(config, dtype=jnp.dtype(dtype), seed=0, input_shape=(1, 16, 16, 3))
    variables = to(dtype, jax.tree.map(np.asarray, made.params))

    def loss(params, batch_stats, x, label):
        out, updated = made.module.apply({"params": params, "batch_stats": batch_stats}, x, deterministic=False,
                                         mutable=["batch_stats"])
        return mean_token_loss(out.logits, label), updated["batch_stats"]
    return jax.value_and_grad(loss, has_aux=True), (variables["params"], variables["batch_stats"],
                                                    Draw(dtype)(2, 16, 16, 3, scale=1.0), integers(2, 2)), {
        "roles": {"batch_stats": "constant"}}


ADDED = {
    "gpt2": causal(hf.FlaxGPT2LMHeadModel, hf.GPT2Config, **GPT),
    "gpt-j": causal(hf.FlaxGPTJForCausalLM, hf.GPTJConfig, **GPT, rotary_dim=4),
    "gpt-neo": causal(hf.FlaxGPTNeoForCausalLM, hf.GPTNeoConfig, vocab_size=40, hidden_size=32, num_layers=2, num_heads=4,
                      max_position_embeddings=16, window_size=4, attention_types=[[["global", "local"], 1]]),
    "opt": causal(hf.FlaxOPTForCausalLM, hf.OPTConfig, vocab_size=40, hidden_size=32, num_hidden_layers=2, ffn_dim=48,
                  num_attention_heads=4, max_position_embeddings=16, word_embed_proj_dim=32, dropout=0.0),
    "llama": causal(hf.FlaxLlamaForCausalLM, hf.LlamaConfig, **SIZES),
    "mistral": causal(hf.FlaxMistralForCausalLM, hf.MistralConfig, **SIZES, num_key_value_heads=2, sliding_window=4),
    "gemma": causal(hf.FlaxGemmaForCausalLM, hf.GemmaConfig, **SIZES, num_key_value_heads=1, head_dim=8),
    "bert-masked": masked(hf.FlaxBertForMaskedLM, hf.BertConfig, **SIZES, **OFF),
    "bert-pooled": masked(hf.FlaxBertModel, hf.BertConfig, task="pooled", **SIZES, **OFF),
    "bert-classifier": masked(hf.FlaxBertForSequenceClassification, hf.BertConfig, **SIZES, **OFF),
    "roberta": masked(hf.FlaxRobertaForMaskedLM, hf.RobertaConfig, **SIZES, **OFF),
    "albert": masked(hf.FlaxAlbertForMaskedLM, hf.AlbertConfig, **SIZES, embedding_size=16),
    "distilbert": masked(hf.FlaxDistilBertForMaskedLM, hf.DistilBertConfig, task="distil", vocab_size=40, dim=32, n_layers=2,
                         n_heads=4, hidden_dim=48, max_position_embeddings=16),
    "electra": masked(hf.FlaxElectraForMaskedLM, hf.ElectraConfig, **SIZES, **OFF, embedding_size=16),
    "t5": translator(hf.FlaxT5ForConditionalGeneration, hf.T5Config, **T5_SIZES),
    "t5-gated": translator(hf.FlaxT5ForConditionalGeneration, hf.T5Config, **T5_SIZES, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "bart": translator(hf.FlaxBartForConditionalGeneration, hf.BartConfig, **SEQ2SEQ),
    "pegasus": translator(hf.FlaxPegasusForConditionalGeneration, hf.PegasusConfig, **SEQ2SEQ),
    "blenderbot": translator(hf.FlaxBlenderbotForConditionalGeneration, hf.BlenderbotConfig, **SEQ2SEQ),
    "whisper": whisper,
    "wav2vec2": wav2vec2,
    "vit": picture(hf.FlaxViTForImageClassification, hf.ViTConfig, **IMAGE),
    "beit": picture(hf.FlaxBeitForImageClassification, hf.BeitConfig, **IMAGE),
    "clip": clip,
    "resnet": resnet,
}
for name, make in ADDED.items():
    add(f"hugging-face/{name}", make)
