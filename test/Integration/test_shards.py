"""Tensor parallelism: layers split over shards, one per rank. Losses and gradients are compared with JAX's on threads, in MPI
processes and on the emulator."""

import re
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, emulated
from sharded import GPT, HEADS, LLAMA, MICROBATCHES, MPI, TRANSLATOR, agrees_with_jax, compiled, hosts, results
from tiers import thorough
from workshop import BUILD, HERE, call, tool

CASES = [
    ("gpt.py:gpt", 2, GPT, ()), ("gpt.py:gpt", 4, GPT, ()),
    ("gpt.py:gpt_tied", 2, GPT, ()), ("gpt.py:gpt_dropout", 2, GPT, ()), ("gpt.py:gpt_forward", 2, GPT, ()),
    ("gpt.py:gpt", 2, GPT, ("--sequence-parallel=false",)), ("gpt.py:gpt_dropout", 4, GPT, ("--sequence-parallel=false",)),
    ("gpt.py:gpt", 2, GPT, ("--schedule=interleaved",)), ("gpt.py:gpt", 2, GPT, ("--schedule=interleaved-zb",)), ("gpt.py:gpt", 2, GPT, ("--schedule=looped-bfs",)),
    ("gpt.py:gpt", 2, f"{GPT},params/head=1,params/wte=0", ()),
    ("llama.py:llama", 2, LLAMA, ()), ("llama.py:llama", 4, LLAMA, ()),
    ("encoder_decoder.py:encoder_decoder", 2, TRANSLATOR, ()), ("encoder_decoder.py:encoder_decoder", 4, TRANSLATOR, ()),
    ("moe.py:moe", 2, "params/h/*/up=0,params/h/*/down=0", ()),   # split by experts
    ("moe.py:moe", 4, "params/h/*/up=2,params/h/*/down=1", ()),   # every expert split
    ("convnet.py:convnet", 2, "*/c1=3,*/c2=2", ()), ("convnet.py:convnet", 4, "*/c1=3,*/c2=2", ()),
    ("convnet.py:convnet", 4, "image=0,label=0", ()), ("gpt.py:gpt", 2, f"{GPT},ids=1,tgt=1", ()),   # samples, parts of the sequence
    ("graphs.py:graph_sage", 2, "features=0,ids=0,mask=0,classes=0", ()),   # a table of features split by nodes, and samples
    ("graphs.py:graph_gat", 2, "features=0,ids=0,mask=0,classes=0", ()),   # four parts of a gradient in one function
    # Parts that are not equal.
    ("gpt.py:gpt", 3, HEADS, ()), ("gpt.py:gpt_dropout", 3, HEADS, ()), ("gpt.py:gpt_tied", 3, HEADS.replace("params/head=1,", ""), ()),
    ("llama.py:llama", 3, "*/gate=1,*/up=1,*/down=0", ()), ("convnet.py:convnet", 3, "*/c1=3,*/c2=2", ()),
    *thorough([("gpt.py:gpt", 3, f"{GPT},ids=1,tgt=1", ()), ("convnet.py:convnet", 3, "image=0,label=0", ()),
               ("moe.py:moe", 3, "params/h/*/up=0,params/h/*/down=0", ())]),
    # Useless splits: values that do not fit are joined.
    ("gpt.py:gpt", 2, "*=0", ()), ("llama.py:llama", 2, "*=0", ()), ("gpt.py:gpt", 3, "*=0", ()),
]


@pytest.mark.parametrize("model, ways, hints, flags", CASES, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_shards_agree_with_jax(tmp_path, imported, model, ways, hints, flags):
    folder = imported(model)
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, *flags)
    agrees_with_jax(artifact, folder)


LINKED = ("gpt.py:gpt", "llama.py:llama", "moe.py:moe", "convnet.py:convnet", "encoder_decoder.py:encoder_decoder")


def linkage_classes(folder):
    """What pp-plan --explain-layouts reports: hints of classes that can be split, reasons why others cannot, and the share of
    contractions that can."""
    text = tool("pp-plan", folder / "step.mlir", "--explain-layouts")
    hints, refused = re.findall(r"^    split by --shard='(.*)': ", text, re.M), re.findall(r"^    not split: (.*)", text, re.M)
    assert len(hints) + len(refused) == len(re.findall(r"^  \d+ class(?:es)? of ", text, re.M))
    return hints, refused, float(re.search(r"^([\d.]+) % of the flops in contractions can be split", text, re.M)[1])


@pytest.mark.parametrize("model, most", [*((model, 2) for model in LINKED), *thorough([(model, None) for model in LINKED])])
def test_linkage_classes_are_split_or_refused(tmp_path, imported, model, most):
    """Dimensions that are split together: two ranks with parts of them agree with JAX, or an operation is named that prevents it."""
    folder = imported(model)
    hints, refused, share = linkage_classes(folder)
    assert share >= 95 and hints
    for reason in refused:
        assert re.match(r"(linalg|tensor|arith|scf)\.\w+( \(.+\))?( in [^:]+)?: .+", reason), reason
    for number, own in enumerate(hints[:most]):
        agrees_with_jax(compiled(folder, tmp_path / f"{number}.swx", 2, own), folder)


COPIES = [
    ("gpt.py:gpt", GPT, 2, ()), ("gpt.py:gpt", GPT, 3, ()), ("gpt.py:gpt_dropout", GPT, 2, ()), ("llama.py:llama", LLAMA, 2, ()),
    ("moe.py:moe", "params/h/*/up=0,params/h/*/down=0", 2, ()), ("gpt.py:gpt_deep", GPT, 4, ("--stages=2",)),
    ("gpt.py:gpt_deep_tied", GPT, 4, ("--stages=2", "--schedule=zb-h1")), ("gpt.py:gpt_forward", GPT, 2, ()),
    ("gpt.py:gpt_forward", GPT, 4, ("--stages=2",)),
]


@pytest.mark.parametrize("model, hints, groups, flags", COPIES, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_copies_of_shards_agree_with_jax(tmp_path, imported, model, hints, groups, flags):
    """Copies of all shards and stages take microbatches in turn; with three copies, one has two of the four microbatches."""
    folder = imported(model)
    copies = groups // 2 if flags else groups
    artifact = compiled(folder, tmp_path / "step.swx", 2, hints, f"--data-parallel={copies}", *flags, groups=groups)
    agrees_with_jax(artifact, folder)


STAGES = [
    ("gpt.py:gpt_deep", GPT, ("--stages=2",)), ("gpt.py:gpt_deep", GPT, ("--stages=2", "--schedule=zb-h1")),
    ("gpt.py:gpt_deep", GPT, ("--stages=4", "--schedule=interleaved")), ("gpt.py:gpt_deep", GPT, ("--stages=2", "--schedule=gpipe")),
    *(("gpt.py:gpt_deep", GPT, ("--stages=4", f"--schedule={schedule}")) for schedule in ("zb-v", "v-half", "v-min", "dualpipe-v")),
    ("gpt.py:gpt_deep_tied", GPT, ("--stages=2",)), ("gpt.py:gpt_dropout", GPT, ("--stages=2",)),
    ("llama.py:llama", LLAMA, ("--stages=2",)), ("encoder_decoder.py:encoder_decoder", TRANSLATOR, ("--stages=2",)),
    ("convnet.py:convnet", "*/c1=3,*/c2=2", ("--stages=2",)),
    ("gpt.py:gpt", HEADS, ("--stages=2",)),   # over three devices, in parts that are not equal
]


@pytest.mark.parametrize("model, hints, flags", STAGES, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_shards_of_stages_agree_with_jax(tmp_path, imported, model, hints, flags):
    """Each stage is on two or three devices, which share its layers."""
    folder = imported(model)
    artifact = compiled(folder, tmp_path / "step.swx", 3 if hints == HEADS else 2, hints, *flags, groups=2)
    agrees_with_jax(artifact, folder)


def test_shards_in_bfloat16_err_as_jax_does(tmp_path, imported):
    wide, folder = imported("gpt.py:gpt"), imported("gpt.py:gpt_bfloat16")
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT)
    ours, theirs = golden.short_float_errors(load_file(folder / "jax.golden.safetensors"), results(artifact, folder),
                                             load_file(wide / "jax.golden.safetensors"))
    assert 0 < ours <= 1.5 * theirs


@MPI
@pytest.mark.parametrize("ways, stages, copies", ((2, 1, 1), (3, 1, 1), (4, 1, 1), (2, 2, 1), (2, 1, 2)))
def test_processes_have_the_bits_of_threads(tmp_path, imported, ways, stages, copies):
    """Ranks read and write their parts of the files' tensors. With copies, MPI sums the gradients of whole
    parameters over all four ranks, in its own order."""
    folder = imported("gpt.py:gpt")
    artifact = compiled(folder, tmp_path / "step.swx", ways, GPT if ways != 3 else HEADS, f"--stages={stages}", f"--data-parallel={copies}", groups=stages * copies)
    files = []
    for name, launch in (("threads", ()), ("mpi", ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ways * stages * copies))):
        files.append(tmp_path / f"{name}.safetensors")
        call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={files[-1]}")
    threads, processes = (load_file(file) for file in files)
    assert threads.keys() == processes.keys()
    for name in threads:
        if copies == 1 or threads[name].ndim == 2:
            assert (threads[name] == processes[name]).all(), name
        else:
            assert np.linalg.norm(threads[name] - processes[name]) <= 1e-6 * np.linalg.norm(threads[name]), name


@MPI
def test_processes_join_the_results_of_copies(tmp_path, imported):
    """Every process of a copy has the logits of its microbatches."""
    folder, file = imported("gpt.py:gpt_forward"), tmp_path / "mpi.safetensors"
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, "--data-parallel=2", groups=2)
    call("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 4, BUILD / "bin/pp-run", artifact,
         f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={file}")
    assert (load_file(file)["0"] == results(artifact, folder)["0"]).all()


@NEEDED
@pytest.mark.parametrize("model, ways, stages, copies, hints", (
    ("gpt.py:gpt", 2, 1, 1, GPT), ("gpt.py:gpt", 2, 2, 1, GPT), ("gpt.py:gpt", 2, 1, 2, GPT), ("gpt.py:gpt", 3, 1, 1, HEADS),
    ("gpt.py:gpt_forward", 2, 1, 2, GPT),
    *thorough((("llama.py:llama", 2, 1, 1, LLAMA),))))
def test_shards_on_devices(tmp_path, imported, model, ways, stages, copies, hints):
    folder = imported(model)
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, f"--stages={stages}", f"--data-parallel={copies}", "--target=cuda:sm_90a", cluster="h100")
    agrees_with_jax(artifact, folder, emulated())


def test_heads_and_words_that_do_not_divide_are_split(tmp_path):
    """As the compiler chooses: five heads of eight elements and 67 words over two shards, 3 + 2 and 34 + 33."""
    sizes = {"STAGEWRIGHT_GPT": "V=67,D=40,H=5,L=2,T=16,B=2"}
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/gpt.py:gpt", "-o", tmp_path / "step.mlir", env=sizes)
    call(sys.executable, HERE / "golden.py", "make", HERE / "models/gpt.py:gpt", MICROBATCHES, "-o", tmp_path / "jax", env=sizes)
    cluster = hosts(tmp_path / "cluster.json", (1, 1), 1e8)
    done = subprocess.run([BUILD / "bin/pp-compile", tmp_path / "step.mlir", f"--cluster={cluster}", "--tensor-parallel=2",
                           f"--microbatches={MICROBATCHES}", "-o", tmp_path / "step.swx"], capture_output=True, text=True)
    chosen = re.search("as by --shard='(.*?)'", done.stderr)[1].split(",")
    assert {"params/h/*/qkv=1:3:8", "params/h/*/o=0:1:8", "params/head=1"} <= set(chosen), chosen
    agrees_with_jax(tmp_path / "step.swx", tmp_path)


@pytest.mark.parametrize("ways, devices", (("2,2", "0-1;2-3"), ("2,2", "0-1;1-2"), ("4,2", "0-3;1,3")))
def test_a_parallel_block_takes_its_residual_from_another_stage(tmp_path, imported, ways, devices):
    """The second stage adds the residual of the first to what its own shards have."""
    folder = imported("gpt.py:gpt_parallel")
    agrees_with_jax(compiled(folder, tmp_path / "step.swx", ways, GPT, f"--stage-devices={devices}", cluster="local:4"), folder)
