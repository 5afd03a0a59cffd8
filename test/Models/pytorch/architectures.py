"""Small random models: transformers by HuggingFace and a convolution net. The functions return (module, loss, batch), as
`stagewright import torch` expects."""

import torch
import transformers as hf
from torch import nn

VOCABULARY, BATCH, LENGTH = 61, 2, 8
DECODER = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=4, num_attention_heads=4,
               num_key_value_heads=2, max_position_embeddings=16, use_cache=False, bos_token_id=1, eos_token_id=2)
ENCODER = dict(hidden_size=24, intermediate_size=32, num_hidden_layers=4, num_attention_heads=4, hidden_dropout_prob=0.0,
               attention_probs_dropout_prob=0.0)


def own_loss(module, **batch):
    """The loss that the model itself computes."""
    return module(**batch).loss


def tokens(seed=1):
    return torch.randint(0, VOCABULARY, (BATCH, LENGTH), generator=torch.Generator().manual_seed(seed))


def numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def build(kind, configuration):
    torch.manual_seed(0)
    return kind(configuration).train()


def language_model(kind, configuration):
    return build(kind, configuration), own_loss, dict(input_ids=tokens(), labels=tokens())


def gpt2(dropout=0.0):
    return language_model(hf.GPT2LMHeadModel, hf.GPT2Config(
        vocab_size=VOCABULARY, n_positions=16, n_embd=24, n_layer=4, n_head=2, resid_pdrop=dropout, embd_pdrop=dropout,
        attn_pdrop=dropout, use_cache=False, bos_token_id=1, eos_token_id=2))


def gpt2_dropout():
    return gpt2(0.1)


def llama():
    return language_model(hf.LlamaForCausalLM, hf.LlamaConfig(**DECODER))


def qwen3():
    return language_model(hf.Qwen3ForCausalLM, hf.Qwen3Config(head_dim=6, **DECODER))


def mixtral():
    return language_model(hf.MixtralForCausalLM, hf.MixtralConfig(
        num_local_experts=4, num_experts_per_tok=2, output_router_logits=True, **DECODER))


def bert():
    module = build(hf.BertForMaskedLM, hf.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=16, **ENCODER))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    mask[0, -2:] = 0
    return module, own_loss, dict(input_ids=tokens(), labels=tokens(3), attention_mask=mask)


def t5():
    module = build(hf.T5ForConditionalGeneration, hf.T5Config(
        vocab_size=VOCABULARY, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_decoder_layers=2, num_heads=4,
        dropout_rate=0.0, decoder_start_token_id=0, use_cache=False))
    return module, own_loss, dict(input_ids=tokens(), labels=tokens(3))


def whisper():
    module = build(hf.WhisperForConditionalGeneration, hf.WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=8, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=8,
        max_target_positions=16, dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        use_cache=False))
    return module, own_loss, dict(input_features=numbers(BATCH, 8, 16), labels=tokens())


def vit():
    module = build(hf.ViTForImageClassification, hf.ViTConfig(image_size=8, patch_size=4, num_labels=5, **ENCODER))
    return module, own_loss, dict(pixel_values=numbers(BATCH, 3, 8, 8), labels=torch.tensor([1, 3]))


def convnext():
    module = build(hf.ConvNextForImageClassification, hf.ConvNextConfig(
        num_channels=3, patch_size=2, hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 2, 1], image_size=32, num_labels=5))
    return module, own_loss, dict(pixel_values=numbers(BATCH, 3, 32, 32), labels=torch.tensor([1, 3]))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(x + self.norm2(self.second(y)))


class ResNet(nn.Module):
    def __init__(self, width=8, blocks=4):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(Residual(width) for _ in range(blocks))
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def resnet():
    torch.manual_seed(0)

    def loss(module, images, labels):
        return nn.functional.cross_entropy(module(images), labels)
    return ResNet().train(), loss, dict(images=numbers(4, 3, 8, 8), labels=torch.tensor([0, 1, 2, 3]))


LAYERS = {
    "gpt2": "transformer.h.{}", "llama": "model.layers.{}", "qwen3": "model.layers.{}", "mixtral": "model.layers.{}",
    "bert": "bert.encoder.layer.{}", "vit": "vit.layers.{}", "resnet": "blocks.{}"}
MODELS = (gpt2, llama, qwen3, mixtral, bert, t5, whisper, vit, convnext, resnet)
