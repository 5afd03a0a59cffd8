"""Tensor parallelism: layers split over shards, one per rank. Losses and gradients are compared with JAX's on threads, in MPI
processes and on the emulator; messages between ranks are counted."""

import functools
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, emulated
from tiers import thorough
from workshop import BUILD, HERE, call, tool

GPT = "*/qkv=1:3,*/o=0,*/fc=1,*/proj=0"
HEADS = "*/qkv=1:3:8,*/o=0:1:8,*/fc=1,*/proj=0,params/head=1,params/wte=0"   # splits 4 heads, 128 units, 64 words also over 3
LLAMA = "*/q=1,*/k=1,*/v=1,*/o=0,*/gate=1,*/up=1,*/down=0"
TRANSLATOR = "*/q=1,*/k=1,*/v=1,*/o=0,*/up=1,*/down=0"
MICROBATCHES = 4
SMALL = {"STAGEWRIGHT_GPT": "V=64,D=32,H=4,L=2,T=16,B=2", "STAGEWRIGHT_GRAPHS": "N=60,E=400,C=4,F=8,H=128,K=3,L=2,B=12"}
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason="there is no MPI")

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


@pytest.fixture
def imported(workshop_of_all):
    """By model, a folder with the module, its inputs and JAX's results."""
    def make(model):
        def write(folder):
            folder.mkdir()
            call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", folder / "step.mlir", env=SMALL)
            call(sys.executable, HERE / "golden.py", "make", HERE / "models" / model, MICROBATCHES, "-o", folder / "jax", env=SMALL)
        return workshop_of_all.file(write, "shards", model)
    return make


def compiled(folder, artifact, ways, hints, *flags, cluster="local", groups=1):
    tool("pp-compile", folder / "step.mlir", f"--cluster=local:{ways * groups}" if cluster == "local" else f"--cluster={cluster}",
         f"--tensor-parallel={ways}", f"--shard={hints}", f"--microbatches={MICROBATCHES}", "-o", artifact, "--quiet", *flags)
    return artifact


def results(artifact, folder, env=None):
    out = artifact.with_suffix(".safetensors")
    tool("pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={out}", env=env)
    return load_file(out)


def agrees_with_jax(artifact, folder, env=None):
    wrong = golden.disagreements(load_file(folder / "jax.golden.safetensors"), results(artifact, folder, env))
    assert not wrong, "\n".join(wrong)


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


def hosts(file, counts, between):
    """A cluster file: hosts with these counts of equal devices, 10 GB/s inside hosts, `between` bytes a second between them."""
    names = [(f"d{host}.{number}", host) for host, count in enumerate(counts) for number in range(count)]
    file.write_text(json.dumps({
        "name": "hosts", "devices": [{"name": name, "class": "c", "node": host, "flops": 1e9, "bandwidth": 1e10, "memory": 1 << 30}
                                     for name, host in names],
        "fabric": {"inside": {"bandwidth": 1e10, "latency": 1e-7}, "between": {"bandwidth": between, "latency": 1e-6}, "nic": between}}))
    return file


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


def single(folder, layers, microbatches):
    """A GPT with one sequence per microbatch, which replicas cannot share."""
    size = {"STAGEWRIGHT_GPT": f"V=64,D=32,H=4,L={layers},T=16,B=1"}
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/gpt.py:gpt", "-o", folder / "step.mlir", env=size)
    call(sys.executable, HERE / "golden.py", "make", HERE / "models/gpt.py:gpt", microbatches, "-o", folder / "jax", env=size)
    return folder


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    return single(tmp_path_factory.mktemp("narrow"), layers=2, microbatches=3)


@pytest.mark.parametrize("counts, between, ways, stages", (
    ((2, 2), 3e7, 2, 2), ((1, 1, 1, 1), 1e7, 1, None), ((4,), 1e10, 4, 1)), ids=("pairs", "slow", "fast"))
def test_the_number_of_shards_is_chosen(tmp_path, narrow, counts, between, ways, stages):
    """Two shards inside pairs with fast links, and a pipeline between the pairs; no shards if all links are slow; four if all
    are fast."""
    cluster, artifact = hosts(tmp_path / "cluster.json", counts, between), tmp_path / "step.swx"
    asked = [BUILD / "bin/pp-compile", narrow / "step.mlir", f"--cluster={cluster}", "--tensor-parallel=auto", "--microbatches=3", "-o", artifact]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {1 if which == "whole layers" else int(which): (float(time) * {"ms": 1, "us": 1e-3}[unit], at and int(at))
             for which, time, unit, at in re.findall(r"remark: (?:layers over )?(whole layers|\d+)(?: shards)?: (?:about )?([\d.]+) (ms|us) a step(?:, in (\d+) stages?)?",
                                                     done.stderr)}
    assert set(found) == {1, 2, 4}
    assert min(found, key=lambda it: found[it][0]) == ways and (stages is None or found[ways][1] == stages)
    assert (f"layers are split over {ways} shards" in done.stderr) == (ways > 1)
    # The remark has the time of the compiled plan.
    predicted = float(re.search(r"predicted step ([\d.]+) ms", done.stdout)[1])
    assert abs(predicted - found[ways][0]) <= 0.05
    assert len(json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]) <= 4
    agrees_with_jax(artifact, narrow)


@pytest.mark.parametrize("microbatches", (1, 2, 8))
def test_a_number_of_shards_that_is_not_planned_has_no_faster_plan(tmp_path, narrow, microbatches):
    """pp-plan leaves out a number if bounds exceed the time of a plan with another one: here, if there are too few microbatches for a
    pipeline and links are fast."""
    cluster = hosts(tmp_path / "cluster.json", (4,), 1e11)
    asked = [BUILD / "bin/pp-plan", narrow / "step.mlir", f"--cluster={cluster}", f"--microbatches={microbatches}"]
    seconds = {"s": 1, "ms": 1e-3, "us": 1e-6}
    best = json.loads(call(*asked, "--tensor-parallel=auto", "--json"))
    skipped = re.findall(r"- (whole layers|layers over \d+ shards): none faster found, at least ([\d.]+) (\w+)",
                         call(*asked, "--tensor-parallel=auto", "--explain"))
    assert skipped or microbatches == 8
    for layers, bound, unit in skipped:
        number = re.findall(r"\d+", layers)
        plan = json.loads(call(*asked, *(f"--tensor-parallel={ways}" for ways in number), "--json"))
        assert plan["time_s"] >= best["time_s"]
        assert plan["time_s"] >= 0.999 * float(bound) * seconds[unit]
        assert best["lower_bound_family_s"] <= 1.001 * float(bound) * seconds[unit]


def test_stages_of_shards_are_interleaved(tmp_path):
    """The compiler interleaves if that is faster, as it is here: two pairs, slow links between them, six layers."""
    folder, artifact = single(tmp_path, layers=6, microbatches=4), tmp_path / "step.swx"
    cluster = hosts(tmp_path / "cluster.json", (2, 2), 1e8)

    def plan(*more):
        done = subprocess.run([BUILD / "bin/pp-compile", folder / "step.mlir", f"--cluster={cluster}", "--tensor-parallel=auto",
                               "--data-parallel=1", "--microbatches=4", "-o", artifact, *more], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = re.search(r"layers over 2 shards: ([\d.]+) ms a step, in (\d+) stages and 1 copy, (\d+) stages on each device, by the "
                          r"schedule ([\w-]+); at least ([\d.]+) ms", done.stderr)
        assert int(found[2]) == 2 * int(found[3]) and float(found[5]) <= float(found[1])
        assert f"schedule {found[4]}" in done.stdout
        return float(found[1]), found[4]

    whole, halves = plan("--schedule=interleaved"), plan()
    # Backwards that are split into two halves leave smaller bubbles.
    assert halves[0] < whole[0] and "zb" in halves[1], (whole, halves)
    agrees_with_jax(artifact, folder)


def test_every_number_of_groups_is_planned(tmp_path):
    """With a schedule that has several stages per device. Plans that are expected to be slow are not compiled."""
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/gpt.py:gpt_deep", "-o", tmp_path / "step.mlir")
    said = subprocess.run([BUILD / "bin/pp-compile", tmp_path / "step.mlir", f"--cluster={hosts(tmp_path / 'cluster.json', (4, 4), 3e8)}",
                           "--tensor-parallel=auto", "--schedule=interleaved", "--data-parallel=1", "--microbatches=8", "--emit=program"],
                          capture_output=True, text=True).stderr
    assert re.search(r"layers over 4 shards: .* a step, in 8 stages and 1 copy, 4 stages on each device", said), said
    assert re.search(r"layers over 2 shards: about .* a step; at least ", said), said


def test_asked_stages_are_planned_with_chunks(tmp_path):
    """Twelve stages on two groups of four shards: six on each device."""
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/gpt.py:gpt_deep", "-o", tmp_path / "step.mlir")
    said = subprocess.run([BUILD / "bin/pp-compile", tmp_path / "step.mlir", f"--cluster={hosts(tmp_path / 'cluster.json', (4, 4), 3e8)}",
                           "--tensor-parallel=auto", "--stages=12", "--data-parallel=1", "--microbatches=8", "--emit=program"],
                          capture_output=True, text=True).stderr
    assert re.search(r"layers over 4 shards: .* a step, in 12 stages and 1 copy, 6 stages on each device", said), said


@pytest.mark.parametrize("stages, copies", ((2, 1), (2, 2)))
@pytest.mark.parametrize("model", ("gpt.py:gpt", "gpt.py:gpt_tied", "encoder_decoder.py:encoder_decoder", "llama.py:llama"))
def test_gangs_hold_what_was_planned_for_them(tmp_path, imported, model, stages, copies):
    """The bytes that pp-plan counts for a gang over the largest arena of its devices. Measured: 1.01 and 1.31 for the first and the last
    gang of the GPTs, whose rings take less than the six slots of a message that pp-plan counts, 0.99 to 1.04 for the encoder
    and decoder, 0.96 to 1.12 for LLaMA."""
    folder, artifact = imported(model), tmp_path / "step.swx"
    asked = [folder / "step.mlir", f"--cluster=local:{2 * stages * copies}", f"--stages={stages}", "--schedule=1f1b", "--microbatches=8"]
    planned = {}
    for stage in json.loads(tool("pp-plan", *asked, "--tensor-parallel=2", "--json"))["stages"]:
        for gang in stage["devices"]:
            planned[gang] = planned.get(gang, 0) + stage["memory_bytes"]
    tool("pp-compile", *asked, "--tensor-parallel=auto", f"--data-parallel={copies}", "-o", artifact, "--quiet")
    arenas = {rank["device"]: rank["memory"]["arena"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]}
    assert len(arenas) == 2 * len(planned)
    for gang, counted in planned.items():
        assert 0.95 <= counted / max(arenas[device] for device in gang.split("-")) <= 1.35, (gang, counted, arenas)


def ready(folder, artifact, hints, *flags):
    """Whether memory takes credits from stages that run what is ready, and the largest arena."""
    done = subprocess.run([BUILD / "bin/pp-compile", folder / "step.mlir", f"--shard={hints}", "--microbatches=8", "--execution=ready",
                           "-o", artifact, *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "memory allows credits" in done.stderr, max(rank["memory"]["arena"] for rank in
                                                       json.loads(tool("pp-run", artifact, "--info=json"))["ranks"])


@pytest.mark.parametrize("model, hints, more", (("gpt.py:gpt", GPT, ()), ("llama.py:llama", LLAMA, ()), ("gpt.py:gpt", GPT, ("--recompute-layers",))),
                         ids=("gpt", "llama", "gpt-repeated"))
def test_shards_that_run_what_is_ready_get_credits_by_their_arenas(tmp_path, imported, model, hints, more):
    """With 2 % more memory than the arenas take, no credit is taken back; with less memory some are, and the arenas fit."""
    compiled = functools.partial(ready, imported(model), tmp_path / "step.swx", hints, "--cluster=local:2", "--tensor-parallel=2", *more)
    capped, arena = compiled()
    assert not capped
    assert compiled(f"--memory={int(1.02 * arena)}B") == (False, arena)
    # With --recompute-layers most of an arena is parameters, so less can be saved.
    for memory in (int(part * arena) for part in ((0.98,) if more else (0.98, 0.95, 0.92))):
        capped, less = compiled(f"--memory={memory}B")
        assert capped and less <= memory


@pytest.mark.parametrize("more", (("--tensor-parallel=2", "--stages=2"), ("--tensor-parallel=3,2", "--stage-devices=0-2;2-3")), ids=("equal", "unequal"))
def test_gangs_that_run_what_is_ready_get_credits_by_their_arenas(tmp_path, imported, more):
    """With 5 % more memory than the arenas take no credit is taken back; with 5 % less some are, and the arenas fit."""
    compiled = functools.partial(ready, imported("gpt.py:gpt"), tmp_path / "step.swx", GPT, "--cluster=local:4", *more)
    capped, most = compiled()
    assert not capped
    assert compiled(f"--memory={int(1.05 * most)}B") == (False, most)
    capped, less = compiled(f"--memory={int(0.95 * most)}B")
    assert capped and less <= int(0.95 * most)


def test_credits_of_gangs_go_by_their_links(tmp_path, imported):
    def credits(bandwidth):
        cluster = hosts(tmp_path / "cluster.json", (2, 2), bandwidth)
        text = tool("pp-compile", imported("gpt.py:gpt") / "step.mlir", f"--cluster={cluster}", "--tensor-parallel=2", "--stages=2", f"--shard={GPT}",
                    "--microbatches=8", "--execution=ready", "--schedule=1f1b", "--emit=schedule", "--quiet")
        return [int(it) for it in re.search(r"credits \[([0-9, ]+)\]", text).group(1).split(",")]
    assert credits(1e12) != credits(3e6)


def test_what_is_asked_for_stays(tmp_path, narrow):
    cluster = hosts(tmp_path / "cluster.json", (4,), 1e10)
    said = subprocess.run([BUILD / "bin/pp-compile", narrow / "step.mlir", f"--cluster={cluster}", "--tensor-parallel=auto", "--microbatches=3",
                           "--stages=2", "--data-parallel=1", "--emit=program"], capture_output=True, text=True).stderr
    assert "layers over 2 shards: " in said and ", in 2 stages and 1 copy" in said
    assert "whole layers" not in said  # --data-parallel asks for copies of shards
    assert "layers over 4 shards have no plan: the requested numbers of stages and copies do not suit gangs of 4 devices" in said


def test_a_trace_has_every_message(tmp_path, imported):
    folder, trace = imported("gpt.py:gpt"), tmp_path / "trace.json"
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT)
    tool("pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--trace={trace}")
    channels = json.loads(tool("pp-run", artifact, "--info=json"))["channels"]
    counts = {channel["id"]: 1 if channel.get("once") else channel.get("messages", MICROBATCHES) for channel in channels}
    assert any("messages" in channel for channel in channels)
    found = [event["args"] for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "transfer"]
    for channel, count in counts.items():
        own = [it.get("message", it.get("microbatch")) for it in found if it["channel"] == channel]
        assert sorted(own) == sorted(2 * list(range(count))), channel  # sent and received


def messages(artifact):
    """Number of messages per microbatch by size in bytes, without gradients, which are sent once a step."""
    sizes = {}
    for channel in json.loads(tool("pp-run", artifact, "--info=json"))["channels"]:
        if not channel["name"].startswith("gradient."):
            sizes[channel["bytes"]] = sizes.get(channel["bytes"], 0) + channel.get("messages", MICROBATCHES)
    assert all(count % MICROBATCHES == 0 for count in sizes.values())
    return {size: count // MICROBATCHES for size, count in sizes.items()}


@pytest.mark.parametrize("model, ways, hints, layers, activation", (
    ("gpt.py:gpt", 2, GPT, 2, 2 * 16 * 32 * 4), ("gpt.py:gpt", 4, GPT, 2, 2 * 16 * 32 * 4),
    ("llama.py:llama", 2, LLAMA, 2, 16384)), ids=("gpt-2", "gpt-4", "llama-2"))
def test_a_block_adds_up_four_times(tmp_path, imported, model, ways, hints, layers, activation):
    """Two sums in the forward and two in the backward, as in Megatron-LM. In LLaMA's backward the gradients through q, k and v,
    and through gate and up, are added before they are sent. The last sum goes only to the shard that has the embedding table.

    A scatter, or a join, sends a part of the value from every shard to every other: together they send 2 (N - 1) / N of it
    from each, as a ring does. With sequence parallelism the first layer's input is whole, and the head's gradient is joined
    once more."""
    folder, sums, exchange = imported(model), 4 * layers, ways * (ways - 1)
    parts = messages(compiled(folder, tmp_path / "step.swx", ways, hints))
    assert parts == {activation // ways: exchange * (2 * sums - 1), activation: ways - 1}
    whole = messages(compiled(folder, tmp_path / "step.swx", ways, hints, "--sequence-parallel=false"))
    if ways == 2:  # the whole value, to the other shard
        assert whole == {activation: 2 * sums - 1}
    else:
        assert whole == {activation // ways: exchange * 2 * (sums - 1), activation: ways - 1}


def crossing(artifact, ways, rows):
    """By sending and receiving group of `ways` shards: the bytes that cross for a microbatch, all from a shard to the corresponding
    one. Left out are gradients of parameters, and a byte for each of `rows` targets that tells whether it counts."""
    found, targets = {}, 0
    for channel in json.loads(tool("pp-run", artifact, "--info=json"))["channels"]:
        ends = channel["from"] // ways, channel["to"] // ways
        if ends[0] == ends[1] or channel["name"].startswith("gradient."):
            continue
        assert channel["from"] % ways == channel["to"] % ways
        if channel["bytes"] <= rows:
            targets += channel["bytes"]
            continue
        found[ends] = found.get(ends, 0) + channel["bytes"] * channel.get("messages", MICROBATCHES) // MICROBATCHES
    assert targets == rows
    return found


@pytest.mark.parametrize("model, ways, hints, flags, rows", (
    ("gpt.py:gpt", 2, GPT, ("--stages=2",), 2 * 16), ("gpt.py:gpt", 4, GPT, ("--stages=2",), 2 * 16),
    ("gpt.py:gpt_deep", 2, GPT, ("--stages=4", "--schedule=interleaved"), 2 * 16),
    ("llama.py:llama", 2, LLAMA, ("--stages=2",), 2 * 32), ("llama.py:llama", 4, LLAMA, ("--stages=2",), 2 * 32)))
def test_stages_send_each_row_once(tmp_path, imported, model, ways, hints, flags, rows):
    """A group of shards sends the activation to the next once, whatever the number of shards, and gets its gradient back once:
    each shard sends its rows to one other shard. The loss also reads which targets count, a byte for each row."""
    artifact = compiled(imported(model), tmp_path / "step.swx", ways, hints, *flags, groups=2)
    cuts, width = int(flags[0][-1]) - 1, 64 if "llama" in model else 32
    activation = 4 * rows * width
    # Every other cut of an interleaved pipeline goes back to the first group.
    assert crossing(artifact, ways, rows) == {(0, 1): cuts * activation, (1, 0): cuts * activation}


def sent(artifact, folder, *launch, env=None):
    """Bytes that each rank reports as sent in one step, in messages of single microbatches."""
    told = json.loads(call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", "--json", env=env))
    return [rank["microbatches"] for rank in told["sent_bytes"]]


def test_shards_send_what_a_formula_says(tmp_path, imported):
    """With head and table split by the vocabulary, the sums of Megatron-LM send 8 M (p - 1) B T ((4 L + 2) D + 2) bytes, for M
    microbatches of B T rows, L blocks of width D and p shards. Its head has two sums per row, of maxima and of exponentials.
    Ours has a third, of the target's logit, which is only scattered and so sends half as much. The loss is sent too."""
    folder, layers, width, rows, ways = imported("gpt.py:gpt"), 2, 32, 2 * 16, 2
    artifact = compiled(folder, tmp_path / "step.swx", ways, f"{GPT},params/head=1,params/wte=0")
    formula = 8 * MICROBATCHES * (ways - 1) * rows * ((4 * layers + 2) * width + 2)
    target, loss = 4 * MICROBATCHES * rows, 4 * MICROBATCHES
    threads = sent(artifact, folder)
    assert sum(threads) == formula + target + loss
    if MPI.args[0] is False:
        assert sent(artifact, folder, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ways) == threads


@pytest.mark.parametrize("ways", (2, 4))
def test_a_parallel_block_has_one_sum(tmp_path, imported, ways):
    """Attention and perceptron have the same input, and one sum adds up their outputs, the residual and both biases. This sum
    and the join before it send half of the bytes of a block in which one follows the other. Small values, such as means of
    norms, are summed too; two sums in each block would send 17 % more."""
    folder, layers, width, rows = imported("gpt.py:gpt_parallel"), 2, 32, 2 * 16
    artifact = compiled(folder, tmp_path / "step.swx", ways, f"{GPT},params/head=1,params/wte=0")
    formula = 8 * MICROBATCHES * (ways - 1) * rows * ((2 * layers + 2) * width + 2)
    assert formula <= sum(sent(artifact, folder)) < 1.05 * formula
    agrees_with_jax(artifact, folder)


@pytest.mark.parametrize("ways, devices", (("2,2", "0-1;2-3"), ("2,2", "0-1;1-2"), ("4,2", "0-3;1,3")))
def test_a_parallel_block_takes_its_residual_from_another_stage(tmp_path, imported, ways, devices):
    """The second stage adds the residual of the first to what its own shards have."""
    folder = imported("gpt.py:gpt_parallel")
    agrees_with_jax(compiled(folder, tmp_path / "step.swx", ways, GPT, f"--stage-devices={devices}", cluster="local:4"), folder)


@NEEDED
def test_devices_send_what_threads_do(tmp_path, imported):
    folder, flags = imported("gpt.py:gpt"), ("--data-parallel=2",)
    threads = sent(compiled(folder, tmp_path / "host.swx", 2, GPT, *flags, groups=2), folder)
    artifact = compiled(folder, tmp_path / "device.swx", 2, GPT, *flags, "--target=cuda:sm_90a", cluster="h100")
    assert sent(artifact, folder, "env", *(f"{name}={value}" for name, value in emulated().items())) == threads


@pytest.mark.parametrize("devices", (1, 2))
def test_shardings_of_a_jax_model_are_hints(tmp_path, imported, devices):
    """The model's arrays are split over two devices, or over a mesh of one: the program equals that of the same hints."""
    plain, folder = imported("llama.py:llama"), tmp_path / "sharded"
    folder.mkdir()
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/llama.py:llama_sharded", "-o", folder / "step.mlir",
         env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"})
    flags = "--cluster=local:2", "--tensor-parallel=2", "--microbatches=4", "--emit=rank", "--quiet"
    hinted, own = tool("pp-compile", plain / "step.mlir", *flags, f"--shard={LLAMA}"), tool("pp-compile", folder / "step.mlir", *flags)
    assert own == hinted
    # Hints override the file; parameters with neither are whole.
    fewer = tool("pp-compile", folder / "step.mlir", *flags, "--shard=*/q=whole,*/k=whole,*/v=whole,*/o=whole")
    assert fewer == tool("pp-compile", plain / "step.mlir", *flags, "--shard=*/gate=1,*/up=1,*/down=0")


def test_constraints_of_values_are_hints(tmp_path, imported):
    """`with_sharding_constraint` on queries and on hidden units: the parameters that are split with them follow, with the keys and
    values of the same heads."""
    plain, folder = imported("llama.py:llama"), imported("llama.py:llama_constrained")
    flags = "--cluster=local:2", "--tensor-parallel=2", "--microbatches=4", "--emit=rank", "--quiet"
    own = tool("pp-compile", folder / "step.mlir", *flags)
    assert own == tool("pp-compile", plain / "step.mlir", *flags, f"--shard={LLAMA},*=auto")
    artifact = tmp_path / "step.swx"
    tool("pp-compile", folder / "step.mlir", *flags[:3], "--quiet", "-o", artifact)
    agrees_with_jax(artifact, plain)
    # Without shards a constraint leaves nothing but the attribute of the parameter.
    whole = [tool("pp-compile", it / "step.mlir", "--cluster=local:1", "--emit=rank", "--quiet") for it in (folder, plain)]
    assert re.sub(r", pipeline.split_derived|, pipeline.split_\w+ = \d+ : i64", "", whole[0]) == whole[1]


def test_shardings_of_exported_functions_are_hints(tmp_path, imported):
    """`jax.export` writes the layouts of arguments and of their gradients in Shardy."""
    plain, artifact = imported("llama.py:llama"), tmp_path / "step.swx"
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/llama.py:llama_exported", "-o", tmp_path / "step.mlir",
         env={"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    text = (tmp_path / "step.mlir").read_text()
    assert text.count("pipeline.split_hint") == 2 * 2 * len(LLAMA.split(",")) and "sdy" not in text
    done = subprocess.run([BUILD / "bin/pp-compile", tmp_path / "step.mlir", "--cluster=local:2", "--tensor-parallel=2",
                           f"--microbatches={MICROBATCHES}", "-o", artifact], capture_output=True, text=True)
    found = re.search(r"as by --shard='([^']*)'", done.stderr)[1].split(",")
    assert {f"params/layers/{hint}" for hint in LLAMA.split(",")} <= set(found)
    agrees_with_jax(artifact, plain)
