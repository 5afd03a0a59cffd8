"""Attention on a device: what its kernels compute on the emulator, and that no array of scores remains."""

import itertools
import re

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, TARGET, emulated
from test_kernels import PTXAS, check_spills, compiled
from tiers import thorough
from workshop import tool

RAGGED = {"STAGEWRIGHT_GPT": "V=61,D=26,H=2,L=1,T=83,B=2", "STAGEWRIGHT_LLAMA": "V=61,D=40,H=4,G=2,F=30,L=1,T=70,B=2",
          "STAGEWRIGHT_ATTENTION": "D=24,H=2,S=40,B=2"}
ALL = "--score-bytes=0"
pytestmark = NEEDED


def computed(workshop, model, env, *flags, stages=1, variables={}):
    """(JAX's results, those of the model's step on the emulator)."""
    inputs, expected = workshop.golden(model, 2, env)
    artifact = compiled(workshop, model, env, stages, *TARGET, *flags)
    out = workshop.path("attention.out.safetensors")
    tool("pp-run", artifact, f"--inputs={inputs}", "--microbatches=2", f"--outputs={out}", env=emulated() | variables)
    return expected, load_file(out)


def kernels_of(workshop, model, env, *flags):
    """The host program of a step as text, and the names of its attention operations."""
    text = compiled(workshop, model, env, 1, *TARGET, "--emit=host", *flags).read_text()
    return text, set(re.findall(r"pipeline\.(attention\w*)", text))


OWN = {"attention", "attention_query_gradient", "attention_key_gradient"}


@pytest.mark.parametrize("model", ["gpt.py:gpt_scan", "attention.py:capped", *thorough((
    "llama.py:llama", "attention.py:masked", "attention.py:biased", "attention.py:dropped", "gpt.py:gpt", "attention.py:full",
    "attention.py:library"))])
def test_attention_is_what_jax_computes(workshop, model):
    """Lengths that no tile divides, unusual head widths, and grouped queries."""
    text, names = kernels_of(workshop, model, RAGGED, ALL)
    assert names == OWN
    assert (" causal " in text) == (not model.startswith("attention") or model.endswith(("library", "capped")))
    assert (" cap " in text, " kept " in text) == (model.endswith("capped"), model.endswith("dropped"))
    wrong = golden.disagreements(*computed(workshop, model, RAGGED, ALL))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width, kinds", [(32, OWN | {"attention_gradient"}), *thorough([(26, OWN)])])
def test_narrow_attention_goes_to_the_library_where_it_fits(workshop, width, kinds):
    """With our own kernels as a fallback. The error against float32 is at most 1.5 times JAX's."""
    env = {"STAGEWRIGHT_GPT": f"V=61,D={width},H=2,L=1,T=83,B=2"}
    assert kernels_of(workshop, "gpt.py:gpt_bfloat16", env, ALL)[1] == kinds
    expected, found = computed(workshop, "gpt.py:gpt_bfloat16", env, ALL)
    reference = workshop.golden("gpt.py:gpt", 2, env)[1]
    ours, theirs = golden.short_float_errors(expected, found, reference)
    assert ours <= 1.5 * theirs


@pytest.mark.parametrize("model, sizes, biased", [
    ("masked_bfloat16", "D=32,H=2,S=40,B=2", True), ("padded_bfloat16", "D=32,H=2,S=40,B=2", True),
    ("biased_bfloat16", "D=32,H=2,S=40,B=2", True),
    # Rows of 41 numbers do not start at multiples of 16 bytes.
    *thorough((("masked_bfloat16", "D=32,H=2,S=41,B=2", False),))])
def test_masks_and_biases_go_to_the_library(workshop, model, sizes, biased):
    """A mask is passed as a bias. Also with our own kernels in place of all library calls, and of the gradient alone, for
    which the library has no plan on the newest devices."""
    env, model = {"STAGEWRIGHT_ATTENTION": sizes}, f"attention.py:{model}"
    text, names = kernels_of(workshop, model, env, ALL)
    assert ("attention_gradient" in names) == biased
    assert biased == bool(re.search(r"pipeline\.attention scale.* library .*memref<2x40x40xf32>\)", text))
    reference = workshop.golden(model.removesuffix("_bfloat16"), 2, env)[1]
    for variables in ({}, {"STAGEWRIGHT_ALTERNATIVES": "1"}, emulated(fail="gradient=1")):
        ours, theirs = golden.short_float_errors(*computed(workshop, model, env, ALL, variables=variables), reference)
        assert 0 < ours <= 1.5 * theirs, variables


@pytest.mark.parametrize("model", ["hidden", "hidden_near"])
def test_queries_that_see_no_key_have_equal_weights(workshop, model):
    """Also in the gradient, where float32, beside a score of -1e9, does not resolve the logarithm of the number of keys."""
    env = {"STAGEWRIGHT_ATTENTION": "D=32,H=2,S=40,B=2"}
    assert kernels_of(workshop, f"attention.py:{model}", env, ALL)[1] == OWN
    wrong = golden.disagreements(*computed(workshop, f"attention.py:{model}", env, ALL))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("model, sizes", [("hidden_near", "D=32,H=2,S=40,B=2"), *thorough([("hidden", "D=32,H=2,S=41,B=2")])])
def test_so_have_those_of_16_bits_in_our_kernels(workshop, model, sizes):
    """The library adds -1e9 to what a mask hides, which leaves nothing of the score. -1e4 would leave it, so our kernels replace
    the score. They also take lengths that the library does not."""
    env, model = {"STAGEWRIGHT_ATTENTION": sizes}, f"attention.py:{model}"
    assert " library " not in kernels_of(workshop, f"{model}_bfloat16", env, ALL)[0]
    ours, theirs = golden.short_float_errors(*computed(workshop, f"{model}_bfloat16", env, ALL),
                                             workshop.golden(model, 2, env)[1])
    assert 0 < ours <= 1.5 * theirs


def test_and_those_of_the_library_in_the_forward(workshop):
    env = {"STAGEWRIGHT_ATTENTION": "D=32,H=2,S=40,B=2"}
    assert " library " in kernels_of(workshop, "attention.py:hidden_bfloat16", env, ALL)[0]
    expected, found = computed(workshop, "attention.py:hidden_bfloat16", env, ALL)
    assert found["0"] == pytest.approx(expected["0"], rel=1e-3)


@pytest.mark.parametrize("model", ["grouped_sliced", "grouped_packed"])
def test_heads_that_are_not_evenly_apart_are_for_our_kernels(workshop, model):
    """The heads of a bias or of queries; the library takes one stride for all heads."""
    env, model = {"STAGEWRIGHT_ATTENTION": "D=32,H=4,S=40,B=2"}, f"attention.py:{model}"
    text, _ = kernels_of(workshop, f"{model}_bfloat16", env, ALL)
    assert " library " not in text
    ours, theirs = golden.short_float_errors(*computed(workshop, f"{model}_bfloat16", env, ALL),
                                             workshop.golden(model, 2, env)[1])
    assert 0 < ours <= 1.5 * theirs


@pytest.mark.parametrize("model", ["grouped", *thorough(["grouped_biased"])])
def test_masks_that_differ_between_heads_that_share_keys_go_to_the_library(workshop, model):
    """The bias has an entry for every head of the queries, even if the mask has only one for all heads that share keys."""
    env, model = {"STAGEWRIGHT_ATTENTION": "D=32,H=4,S=40,B=2"}, f"attention.py:{model}"
    text, names = kernels_of(workshop, f"{model}_bfloat16", env, ALL)
    assert "attention_gradient" in names
    assert re.search(r"pipeline\.attention scale.* library .*memref<2x2x40x40xf32>\)", text)
    reference = workshop.golden(model, 2, env)[1]
    for variables in ({}, {"STAGEWRIGHT_ALTERNATIVES": "1"}):
        ours, theirs = golden.short_float_errors(
            *computed(workshop, f"{model}_bfloat16", env, ALL, variables=variables), reference)
        assert 0 < ours <= 1.5 * theirs, variables


def test_the_library_is_called_with_and_without_a_gradient(workshop):
    """The layer has a gradient; the target, the same layer's output for another input, has none."""
    calls = [computed(workshop, f"attention.py:{model}", {"STAGEWRIGHT_ATTENTION": "D=32,H=2,S=40,B=2"}, ALL)
             for model in ("taught_bfloat16", "taught")]
    ours, theirs = golden.short_float_errors(*calls[0], calls[1][0])
    assert 0 < ours <= 1.5 * theirs


@pytest.mark.parametrize("model, sizes, copies", [
    ("capped_bfloat16", "D=160,H=2,S=150,B=1", True), ("dropped_bfloat16", "D=32,H=2,S=80,B=2", True),
    # Without asynchronous copies: rows of 13 numbers; heads too wide for double buffers, so that queries take two passes.
    ("capped_float16", "D=26,H=2,S=83,B=2", False), *thorough([("capped_bfloat16", "D=256,H=1,S=72,B=1", False)])])
def test_tensor_cores_multiply_what_no_library_takes(workshop, model, sizes, copies):
    env, model = {"STAGEWRIGHT_ATTENTION": sizes}, f"attention.py:{model}"
    assert kernels_of(workshop, model, env, ALL)[1] == OWN
    text = compiled(workshop, model, env, 1, *TARGET, "--emit=assembly", ALL).read_text()
    assert sum("mma.sync" in kernel for kernel in text.split(".entry")) == 3 and copies == ("cp.async" in text)
    reference = workshop.golden(model.rpartition("_")[0], 2, env)[1]
    ours, theirs = golden.short_float_errors(*computed(workshop, model, env, ALL), reference)
    assert 0 < ours <= 1.5 * theirs


def test_tensor_cores_multiply_where_heads_share_keys(workshop):
    """Our kernels, instead of the library's calls."""
    env = {"STAGEWRIGHT_LLAMA": "V=61,D=64,H=4,G=2,F=30,L=1,T=70,B=2"}
    reference = workshop.golden("llama.py:llama", 2, env)[1]
    ours, theirs = golden.short_float_errors(
        *computed(workshop, "llama.py:llama_bfloat16", env, ALL, variables={"STAGEWRIGHT_ALTERNATIVES": "1"}), reference)
    assert 0 < ours <= 1.5 * theirs


def test_attention_spans_stages(workshop):
    env = {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=2,T=24,B=3"}
    wrong = golden.disagreements(*computed(workshop, "gpt.py:gpt", env, ALL, stages=2))
    assert not wrong, "\n".join(wrong)


def test_scores_may_stay_and_other_functions_do(workshop):
    assert not kernels_of(workshop, "gpt.py:gpt", RAGGED)[1], "below the threshold"
    assert not kernels_of(workshop, "attention.py:clipped", RAGGED, ALL)[1]


def test_no_array_of_scores_is_left(workshop):
    """For a sequence of 1024, workspace and stash together are smaller than the scores."""
    env, scores = {}, 2 * 1024 * 1024 * 4

    def workspace(*flags):
        report = tool("pp-compile", workshop.module("gpt.py:gpt_long", env), "--cluster=local:1", "--stages=1",
                      "--microbatches=2", "--stash=least", *TARGET, "-o", workshop.path("attention.long"), *flags)
        lines = report.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("rank device"))
        return dict(zip(lines[head].split()[2:], lines[head + 1].split()[2:]))
    text, names = kernels_of(workshop, "gpt.py:gpt_long", env)
    assert names == OWN and "1024x1024" not in text
    memory, before = workspace(), workspace("--score-bytes=1000000000")
    assert int(memory["workspace"]) + int(memory["stash"]) < scores <= int(before["workspace"])


MODELS, WIDTHS = ("gpt.py:gpt", "gpt.py:gpt_bfloat16"), (64, 128, 256)
# This case is left out: with heads of 256 on sm_80, 52 bytes spill.
FULL = ("gpt.py:gpt_bfloat16", 256, "sm_80")


@pytest.mark.skipif(not PTXAS.exists(), reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("model, width, architecture", [
    *((model, width, "sm_90a") for model in MODELS for width in WIDTHS),
    *thorough(case for case in itertools.product(MODELS, WIDTHS, ("sm_80", "sm_100")) if case != FULL)])
def test_attention_spills_nothing(workshop, model, width, architecture):
    check_spills(workshop, model, {"STAGEWRIGHT_GPT": f"V=64,D={width},H=1,L=1,T=64,B=1"}, architecture, ALL)
