"""What is compiled for the GPU: a model of the tests, its sizes, stages and schedule, and what it is compared with."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: str  # FILE.py:NAME of test/Integration/models
    sizes: str = ""  # of STAGEWRIGHT_GPT and its like, as the model's file reads it
    stages: int = 1
    schedule: str = "1f1b"
    microbatches: int = 4
    reference: str = ""  # the float32 model of a model in 16 bits

    @property
    def environment(self):
        return {f"STAGEWRIGHT_{self.model.partition('.')[0].upper()}": self.sizes} if self.sizes else {}


SMALL = "V=512,D=256,H=4,L=4,T=128,B=4"
# GPT-2 small: 124 million parameters, sequences of 1024.
GPT2 = "V=50304,D=768,H=12,L=12,T=1024,B=4"

NUMERICS = [Case(f"gpt-{stages}", "gpt.py:gpt", SMALL, stages) for stages in (1, 2, 4)] + [
    Case(f"gpt-bfloat16-{stages}", "gpt.py:gpt_bfloat16", SMALL, stages, reference="gpt.py:gpt") for stages in (1, 2, 4)] + [
    Case("gpt-zero-bubble-4", "gpt.py:gpt", SMALL, 4, "zb-h1", 8),
    Case("llama-2", "llama.py:llama", "", 2), Case("convnet-2", "convnet.py:convnet", "", 2)]
STEP = [Case("gpt2-small", "gpt.py:gpt_bfloat16", GPT2, 1, "gpipe", 1, "gpt.py:gpt")]
ALL = NUMERICS + STEP
