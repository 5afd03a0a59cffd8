"""The measured models: those of the integration tests, at realistic sizes."""

import dataclasses
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "test/Integration/models"
MICROBATCHES = 8


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    function: str
    sizes: dict
    one_core: float  # limit on our step time, relative to jax.jit on one core
    unrolled: bool = False  # whether jax.jit is faster with unrolled microbatches than with lax.scan

    @property
    def source(self):
        return f"{FOLDER / self.function}"

    @property
    def environment(self):
        variable = f"STAGEWRIGHT_{self.function.partition('.')[0].upper()}"
        return {variable: ",".join(f"{name}={value}" for name, value in self.sizes.items())}

    def sized(self, name, **sizes):
        return dataclasses.replace(self, name=name, sizes={**self.sizes, **sizes})


GPT = Model("gpt", "gpt.py:gpt", dict(V=512, D=256, H=4, L=4, T=128, B=4), 0.62)
MODELS = {model.name: model for model in (
    GPT,
    GPT.sized("gpt-512", D=512, H=8, T=256),
    Model("llama", "llama.py:llama", dict(V=512, D=256, H=4, G=2, F=704, L=4, T=128, B=4), 0.65),
    Model("convnet", "convnet.py:convnet", dict(S=32, C=32, B=8, K=10), 0.85, unrolled=True))}

# Small, for costs that grow with the number of operations and not with their sizes; benches/compile.py gives DEEP more layers.
DEEP = GPT.sized("deep", D=64, T=32, B=2)
TINY = Model("tiny", "mlp.py:mlp", dict(I=4, D=4, O=4, L=2, B=1), 0.0)
