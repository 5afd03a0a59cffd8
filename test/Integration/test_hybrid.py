"""Stages replicated by slices of a microbatch: JAX's numbers, on threads and with a process for each rank.

Seven samples per microbatch cannot be divided equally; plans state the samples of every replica or leave them to the
speed of the devices. A GPT of three blocks has five layers."""

import shutil

import pytest
from safetensors.numpy import load_file

import golden
from test_processes import AS_ROOT, command
from tiers import thorough
from workshop import BUILD, call, tool

GPT = "gpt.py:gpt_slices"
# Number of devices, and stages with their replicas.
PLANS = {"3+1": (4, "[0,3)x3 [3,5)x1"), "3+1 uneven": (4, "[0,3)x3:4+1+2 [3,5)x1"), "1+3": (4, "[0,2)x1 [2,5)x3:1+3+3"),
         "1+2+1": (4, "[0,1)x1 [1,3)x2:5+2 [3,5)x1"), "2+3": (5, "[0,2)x2:3+4 [2,5)x3:2+2+3")}
# In this order: random bits, a parameter of two stages, values that skip stages, grouped heads, logits joined from
# replicas and microbatches, a perceptron.
OTHERS = (("gpt.py:gpt_slices_dropout", "[0,3)x3:4+1+2 [3,5)x1", "1f1b"),
          ("gpt.py:gpt_deep_tied", "[0,3)x2 [3,10)x2", "1f1b"),
          ("encoder_decoder.py:encoder_decoder", "[0,4)x2 [4,7)x1", "1f1b"), ("llama.py:llama", "[0,2)x1 [2,4)x2", "zb-h1"),
          ("gpt.py:gpt_forward", "[0,2)x2 [2,6)x3", "forward-only"), ("mlp.py:mlp", "[0,2)x3 [2,5)x2", "gpipe"))


def compiled(workshop, devices, stages, schedule, model=GPT, flags=()):
    def make():
        path = workshop.path("hybrid", model, stages, schedule, *flags, "swx")
        tool("pp-compile", workshop.module(model), f"--cluster=local:{devices}", f"--plan={stages}",
             f"--schedule={schedule}", "--microbatches=8", "--quiet", "-o", path, *flags)
        return path
    return workshop.once(("hybrid", model, stages, schedule, *flags), make)


def check(workshop, artifact, model=GPT, microbatches=8):
    results, printed = workshop.run_artifact(model, artifact, "--check-memory", microbatches=microbatches)
    wrong = golden.disagreements(workshop.golden(model, microbatches)[1], results)
    assert not wrong, "\n".join(wrong)
    return results, printed


@pytest.mark.parametrize("schedule", ("1f1b", "gpipe", "zb-h1"))
@pytest.mark.parametrize("plan", PLANS)
def test_replicas_give_the_numbers_of_jax(workshop, plan, schedule):
    devices, stages = PLANS[plan]
    _, printed = check(workshop, compiled(workshop, devices, stages, schedule))
    assert printed.count("live bytes") == devices


@pytest.mark.parametrize("microbatches", (1, 3, 21))
@pytest.mark.parametrize("plan", ("3+1 uneven", "2+3"))
def test_any_number_of_microbatches_runs(workshop, plan, microbatches):
    devices, stages = PLANS[plan]
    check(workshop, compiled(workshop, devices, stages, "1f1b"), microbatches=microbatches)


@pytest.mark.parametrize("model,stages,schedule", [*OTHERS[:2], *thorough(OTHERS[2:])], ids=[model for model, *_ in OTHERS])
def test_other_models(workshop, model, stages, schedule):
    check(workshop, compiled(workshop, 5, stages, schedule, model), model)


NO_MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(),
                            reason="there is no MPI")


@NO_MPI
@pytest.mark.parametrize("plan", ("3+1 uneven", "1+2+1"))
def test_processes_give_the_bits_of_threads(workshop, plan):
    artifact = compiled(workshop, *PLANS[plan], "1f1b")
    threads, _ = check(workshop, artifact)
    out = workshop.path("hybrid", "processes", plan, "safetensors")
    call(*command(workshop, artifact, f"--outputs={out}", ranks=4, model=GPT), env=AS_ROOT)
    found = load_file(out)
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in threads.items()}


@NO_MPI
def test_four_processes_sum_many_buckets(workshop):
    """Four processes add gradients in another order than threads, in buckets of one or two."""
    artifact = compiled(workshop, 4, "[0,5)x4", "1f1b", flags=("--bucket-bytes=4096",))
    out = workshop.path("hybrid", "four", "safetensors")
    call(*command(workshop, artifact, f"--outputs={out}", ranks=4, model=GPT), env=AS_ROOT)
    wrong = golden.disagreements(workshop.golden(GPT)[1], load_file(out))
    assert not wrong, "\n".join(wrong)

