"""The cases compiled for the GPU: a model of the tests, its sizes, stages and schedule, and its reference."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: str  # FILE.py:NAME of test/Integration/models
    sizes: str = ""  # value of STAGEWRIGHT_GPT or a similar variable, as the model's file reads it
    stages: int = 1  # number of stages; of ranks, if `plan` is given
    schedule: str = "1f1b"
    microbatches: int = 4
    reference: str = ""  # the float32 version of a 16-bit or 8-bit model
    groups: tuple = ("numerics",)  # sections that run it; "otherwise": numerics also with our kernels in place of libraries
    plan: str = ""  # pp-compile's --plan, instead of its planner's
    flags: tuple = ()  # flags of pp-compile
    cluster: str = ""  # cluster whose rates the planner uses; else this machine's

    @property
    def environment(self):
        return {f"STAGEWRIGHT_{self.model.partition('.')[0].upper()}": self.sizes} if self.sizes else {}


SMALL = "V=512,D=256,H=4,L=4,T=128,B=4"
WIDE = "V=8192,D=768,H=12,L=4,T=512,B=4"
# Long enough for attention to use the library.
LONG = "V=512,D=256,H=4,L=2,T=512,B=2"
# Under a sanitizer, kernels are a hundred times slower.
TINY = "V=64,D=32,H=2,L=2,T=16,B=2"
# GPT-2 small with an output head of its own: 163 million parameters, sequences of 1024.
GPT2 = "V=50304,D=768,H=12,L=12,T=1024,B=4"

HALF, FLOAT = "gpt.py:gpt_bfloat16", "gpt.py:gpt"
ALL = [
    Case("gpt-1", FLOAT, SMALL, 1, groups=("numerics", "profile")),
    Case("gpt-2", FLOAT, SMALL, 2, groups=("numerics", "processes", "profile")),
    Case("gpt-4", FLOAT, SMALL, 4, groups=("numerics", "processes", "executor", "profile")),
    Case("gpt-bfloat16-1", HALF, SMALL, 1, reference=FLOAT),
    Case("gpt-bfloat16-2", HALF, SMALL, 2, reference=FLOAT, groups=("numerics", "processes")),
    Case("gpt-bfloat16-4", HALF, SMALL, 4, reference=FLOAT),
    Case("gpt-zero-bubble-4", FLOAT, SMALL, 4, "zb-h1", 8),
    Case("gpt-attention-1", HALF, LONG, 1, reference=FLOAT, groups=("numerics", "otherwise")),
    Case("float8-2", "float8.py:float8", "D=512,L=4,B=256", 2, reference="float8.py:float32", groups=("numerics", "otherwise")),
    # Gradients of a stage on two ranks, summed by NCCL.
    Case("twins-2", FLOAT, SMALL, 2, "chimera", groups=("processes",), flags=("--bucket-bytes=1000000",)),
    # The numerics group runs all replicas in one process.
    Case("replicas-3", FLOAT, SMALL, 3, groups=("numerics", "processes"), plan="[0,3)x2 [3,6)x1", flags=("--bucket-bytes=0",)),
    Case("llama-2", "llama.py:llama", "", 2),
    Case("adamw-2", "training.py:gpt_adamw", "", 2, microbatches=2),
    Case("convnet-2", "convnet.py:convnet", "", 2),
    Case("wide-4", HALF, WIDE, 4, "1f1b", 8, groups=("executor", "profile")),
    Case("gpt2-small", HALF, GPT2, 1, "gpipe", 1, groups=("step", "profile"), flags=("--max-replicas=1",), cluster="h100"),
    Case("tiny-gpt-2", FLOAT, TINY, 2, "1f1b", 2, groups=("first", "sanitizer")),
    Case("tiny-bfloat16-2", HALF, TINY, 2, "1f1b", 2, FLOAT, groups=("sanitizer",)),
    # Our own attention kernels, which use the most shared memory.
    Case("tiny-attention-1", FLOAT, TINY, 1, "1f1b", 2, groups=("numerics", "sanitizer"), flags=("--score-bytes=0",)),
]
