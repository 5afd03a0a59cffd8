"""Discardable attributes are hints: a step that loses them after any pass computes the same, or is refused, but never something
else. test/Unit/Hints compiles such steps."""

import subprocess

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, emulated
from tiers import THOROUGH
from workshop import BUILD, tool

COMPILER = BUILD / "unit/fixtures/compile-without-hints"
CONVNET = {"STAGEWRIGHT_CONVNET": "S=9,C=5,B=3,K=5"}
# Half of the scores of 128 tokens are left out; the emulator is slow.
SIZES = {"host": {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=1,T=128,B=2", **CONVNET},
         "cuda:sm_90a": {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=1,T=24,B=2", **CONVNET}}
HOST, DEVICE = ["gpt.py:gpt", "convnet.py:convnet"], ["gpt.py:gpt", "convnet.py:convnet", "recurrent.py:lstm"]
CASES = [(model, "host") for model in HOST] + [pytest.param(model, "cuda:sm_90a", marks=NEEDED) for model in DEVICE]


def compiled(workshop, model, target, place):
    """(path of the artifact, or None if the step is refused, what the compiler printed)."""
    path = workshop.path(model, target, place, "swx")
    done = subprocess.run([COMPILER, workshop.module(model, SIZES[target]), path, target, place], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode in (0, 1), done.stderr  # no crash
    assert done.returncode == 0 or "error:" in done.stderr, done.stderr
    return path if done.returncode == 0 else None, done.stdout + done.stderr


def check(workshop, model, target, place):
    """Whether a step that is compiled without the hints of `place` runs; its results are then right."""
    artifact, _ = compiled(workshop, model, target, place)
    if not artifact:
        return False
    inputs, expected = workshop.golden(model, 2, SIZES[target])
    out = workshop.path("hints.out.safetensors")
    tool("pp-run", artifact, f"--inputs={inputs}", "--microbatches=2", f"--outputs={out}",
         env=emulated() if target != "host" else None)
    wrong = golden.disagreements(expected, load_file(out))
    assert not wrong, f"without {place}:\n" + "\n".join(wrong)
    return True


def places_of(workshop, model, target):
    """Numbers of the passes after which there are hints, with the pass and their names."""
    _, text = compiled(workshop, model, target, "list")
    return [line.split() for line in text.splitlines() if line.split()[0].isdigit()]


@pytest.mark.parametrize("model, target", CASES)
def test_a_step_without_any_hints_is_right_or_refused(workshop, model, target):
    check(workshop, model, target, "all")


@pytest.mark.parametrize("hint, model, target", [("host.triangle", "gpt.py:gpt", "host"), ("host.parallel", "gpt.py:gpt", "host"),
                                                 pytest.param("device.epilogue", "gpt.py:gpt", "cuda:sm_90a", marks=NEEDED)])
def test_a_lost_hint_costs_only_time(workshop, hint, model, target):
    number = next(number for number, _, names in places_of(workshop, model, target) if hint in names.split(","))
    assert check(workshop, model, target, f"{number}:{hint}")


@THOROUGH
@pytest.mark.parametrize("model, target", CASES)
def test_each_hint_may_be_lost_after_any_pass(workshop, model, target):
    places = [f"{number}:{name}" for number, _, names in places_of(workshop, model, target) for name in names.split(",")]
    assert places and any([check(workshop, model, target, place) for place in places])
