"""Google's gemma library: its transformer with the options of Gemma 1, Gemma 2 and Gemma 3."""

import jax
import jax.numpy as jnp
from gemma import modules, transformer

from building import mean_token_loss, to, tokens
from catalog import step

LENGTH = 8
GLOBAL, LOCAL = modules.AttentionType.GLOBAL, modules.AttentionType.LOCAL_SLIDING


def language_model(dtype, layers=2, remat=False, **about):
    config = transformer.TransformerConfig(**{**dict(
        num_layers=layers, num_embed=32, embed_dim=32, hidden_dim=48, num_heads=4, head_dim=8, num_kv_heads=1,
        final_logit_softcap=None, use_post_attn_norm=False, use_post_ffw_norm=False, attention_types=(GLOBAL,) * layers,
        max_cache_length=None), **about})
    net, (ids, targets) = transformer.Transformer(config), tokens(32, 2, LENGTH)
    mask = jnp.broadcast_to(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), (2, LENGTH, LENGTH))
    positions = jnp.broadcast_to(jnp.arange(LENGTH), (2, LENGTH))
    params = jax.jit(net.init)(jax.random.key(0), ids, positions, None, mask)["params"]
    params = to(dtype, jax.tree.map(lambda a: a + 0.02 * jax.random.normal(jax.random.key(a.size), a.shape, a.dtype), params))

    def loss(params, ids, targets):
        logits, _ = net.apply({"params": params}, ids, positions, None, mask)
        return mean_token_loss(logits, targets)
    return jax.value_and_grad(jax.checkpoint(loss) if remat else loss), (params, ids, targets)


GEMMA2 = dict(num_kv_heads=2, final_logit_softcap=30.0, use_post_attn_norm=True, use_post_ffw_norm=True,
              attention_types=(LOCAL, GLOBAL), attn_logits_soft_cap=50.0, sliding_window_size=4)
step("gemma/gemma-2b")(language_model)
step("gemma/gemma-7b")(lambda dtype: language_model(dtype, num_kv_heads=4))
step("gemma/gemma2")(lambda dtype: language_model(dtype, **GEMMA2))
step("gemma/gemma2-27b-scaling")(lambda dtype: language_model(dtype, **GEMMA2, transpose_gating_einsum=True, query_pre_attn_norm=(
    transformer.QueryPreAttentionNormalisation.BY_ONE_OVER_SQRT_EMBED_DIM_DIV_NUM_HEADS)))
step("gemma/gemma3-norms")(lambda dtype: language_model(dtype, **{**GEMMA2, "attn_logits_soft_cap": None}, use_qk_norm=True))
step("gemma/gemma-remat")(lambda dtype: language_model(dtype, remat=True))
