"""The GPT of the tests in PyTorch, in stages, for the peers that run it under torch.distributed.pipelining."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.ln1, self.ln2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.fc, self.proj = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (a.view(b, t, self.heads, d // self.heads).transpose(1, 2) for a in self.qkv(self.ln1(x)).split(d, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(b, t, d))
        return x + self.proj(functional.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class Stage(nn.Module):
    """A range of blocks, with the embeddings in the first stage and the head in the last."""

    def __init__(self, vocabulary, width, heads, length, blocks, first, last):
        super().__init__()
        self.first, self.last = first, last
        if first:
            self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        if last:
            self.lnf, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        if self.first:
            x = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))
        for block in self.h:
            x = block(x)
        return self.head(self.lnf(x)) if self.last else x


def loss_of(out, target):
    return functional.cross_entropy(out.flatten(0, 1), target.flatten())
