"""Annotated models compile as annotated, equal plans written by hand, and give JAX's loss and gradients."""

import json
import os
import re
import subprocess

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import golden
from stagewright.frontend.jax_step import load_model
from tiers import thorough
from workshop import BUILD, HERE, tool

MODEL = "annotated.py:"
# Devices and the plan by hand.
WHOLE = {"data_parallel": (4, "[0,4)x3"), "pipeline": (3, "[0,2)x2 [2,5)x1")}
# Devices, and by parameter: whether it is split.
SPLIT = {"classifier": (2, {"classes": True, "layers/0/up": False}), "towers": (4, {"classes": True, "layers/0/up": True}),
         "experts": (2, {"experts/0/first": True, "experts/1/second": True, "experts/0/up": False, "classes": False})}


def compiled(workshop, name, devices, *flags):
    def make():
        path = workshop.path("annotated", name, devices, *flags, "swx")
        tool("pp-compile", workshop.module(MODEL + name), f"--cluster=local:{devices}", "--microbatches=4", "--quiet", "-o", path,
             *flags)
        return path
    return workshop.once(("annotated", name, devices, *flags), make)


def check(workshop, name, artifact):
    results, _ = workshop.run_artifact(MODEL + name, artifact, "--check-memory", microbatches=4)
    wrong = golden.disagreements(workshop.golden(MODEL + name, 4)[1], results)
    assert not wrong, "\n".join(wrong)


def refused(*command):
    done = subprocess.run([BUILD / "bin" / command[0], *map(str, command[1:])], capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


def plan(workshop, name, devices, *flags):
    return json.loads(tool("pp-plan", workshop.module(MODEL + name), f"--cluster=local:{devices}", "--microbatches=4", "--json",
                           *flags))


@pytest.mark.parametrize("name", WHOLE)
def test_replicas_are_those_of_the_plan_by_hand(workshop, name):
    devices, stages = WHOLE[name]
    annotated, hand = plan(workshop, name, devices), plan(workshop, name, devices, f"--plan={stages}")
    shapes = [[(stage["nodes"], len(stage["devices"])) for stage in found["stages"]] for found in (annotated, hand)]
    assert shapes[0] == shapes[1]
    assert annotated["time_s"] == hand["time_s"]
    check(workshop, name, compiled(workshop, name, devices))


def test_the_rest_is_planned(workshop):
    found = plan(workshop, "partly", 4)
    annotated, = (stage for stage in found["stages"] if "layers.1" in stage["nodes"])
    assert annotated["nodes"] == ["layers.0.1", "layers.1"] and len(annotated["devices"]) == 2
    # A plan by hand that has this stage and uses all devices is no faster.
    assert found["time_s"] <= plan(workshop, "partly", 4, "--plan=[0,1)x1 [1,3)x2 [3,5)x1")["time_s"]
    check(workshop, "partly", compiled(workshop, "partly", 4))


@pytest.mark.parametrize("name", SPLIT)
def test_split_layers_agree_with_jax(workshop, name):
    devices, split = SPLIT[name]
    step = tool("pp-opt", workshop.module(MODEL + name), "--pipeline-shard=ways=2 cluster=local:2")
    function = next(line for line in step.splitlines() if "func.func @step" in line).split(") -> (")[0]
    for parameter, isSplit in split.items():
        parts = re.findall(rf'\{{[^{{}}]*pipeline.name = "params/{parameter}"[^{{}}]*\}}', function)
        assert len(parts) == (2 if isSplit else 1)
    check(workshop, name, compiled(workshop, name, devices))


@pytest.mark.parametrize("flags", ((), ("--tensor-parallel=2", "--recompute-layers")), ids=("kept", "recomputed"))
def test_each_split_is_a_stage_of_its_own(workshop, flags):
    """Layers of the first annotation are on d0 and d1, those of the second on d2 and d3, as in a plan with a cut between."""
    text = tool("pp-compile", workshop.module(MODEL + "towers"), "--cluster=local:4", "--microbatches=4", "--emit=program", *flags)
    assert (".again" in text) == bool(flags)
    readers = dict.fromkeys(("d0", "d1", "d2", "d3"), "")
    layers = re.search(r"pipeline.graph .*\blayers = \[([^\]]*)\]", text)[1].replace('"', "").split(", ")
    for devices, numbers in re.findall(r"pipeline.stage \d+ on \[@(d\d)\] layers \[([\d, ]*)\]", text):
        for number in map(int, numbers.split(", ")):
            layer = re.escape(layers[number])  # A layer that repeats has its node's name, if it has a node.
            for arguments in re.findall(rf'pipeline.node "{layer}(?:.F)?" .* layer \d+ ?\(([^)]*)\)', text):
                readers[devices] += arguments + ","
    names = re.findall(r'(%arg\d+): tensor[^{]*\{[^}]*pipeline.name = "params/([^"]*)"', text.split("func.func")[0])
    where = {(d, name) for d, used in readers.items() for argument, name in names if re.search(rf"{argument}\b", used)}
    for name, devices in (("layers/1/down", "01"), ("in", "01"), ("layers/2/up", "23"), ("classes", "23")):
        assert {d for d, n in where if n == name} == {f"d{d}" for d in devices}
    check(workshop, "towers", compiled(workshop, "towers", 4, *flags))


def test_a_pipeline_of_replicated_features_and_a_split_classifier(workshop):
    check(workshop, "classifier", compiled(workshop, "classifier", 4, "--stages=2"))


def test_globs_say_the_same(workshop, tmp_path):
    """mlp.py has no annotations; its parameters are numbered."""
    model = workshop.module("mlp.py:mlp")
    (tmp_path / "a.txt").write_text("# two stages\nparams/[01]=replicate(2)\nparams/*=replicate(1)\n")
    found = json.loads(tool("pp-plan", model, "--cluster=local:4", "--microbatches=8", "--json", f"--annotate={tmp_path}/a.txt"))
    assert [(stage["nodes"], len(stage["devices"])) for stage in found["stages"]] == [
        (["layer0", "layer1"], 2), (["layer2", "layer3", "out"], 1)]
    artifact = workshop.path("globs.swx")
    tool("pp-compile", model, "--cluster=local:4", "--microbatches=8", "--quiet", "-o", artifact, f"--annotate={tmp_path}/a.txt")
    results, _ = workshop.run_artifact("mlp.py:mlp", artifact)
    assert not golden.disagreements(workshop.golden("mlp.py:mlp")[1], results)
    tool("pp-compile", model, "--cluster=local:2", "--microbatches=8", "--quiet", "-o", artifact, "--annotate=params/4=split(2)")
    results, _ = workshop.run_artifact("mlp.py:mlp", artifact)
    assert not golden.disagreements(workshop.golden("mlp.py:mlp")[1], results)


def test_plans_of_split_layers_are_shown(workshop):
    assert plan(workshop, "classifier", 2)["stages"]
    assert "has several annotations split(N) one after the other, each a stage of its own, which pp-plan does not plan; compile " \
           "it, for example with pp-compile --emit=schedule" in refused(
               "pp-plan", workshop.module(MODEL + "towers"), "--cluster=local:4", "--microbatches=4")


def test_the_example_of_the_documentation_runs(tmp_path):
    text = (HERE.parents[1] / "docs/annotations.md").read_text()
    (tmp_path / "model.py").write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1])
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(commands, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\n0 +0 +d\d-d\d .*\n1 +1 +d\d ", done.stdout)
    tool("pp-run", tmp_path / "step.swx", f"--inputs={tmp_path}/model.inputs.safetensors", "--repeat-microbatch",
         f"--outputs={tmp_path}/out.safetensors")
    function, arguments, _ = load_model(f"{tmp_path}/model.py:train")
    expected = {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(function(*arguments)))}
    found = load_file(tmp_path / "out.safetensors")
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5)


def test_stages_end_only_at_exchanges(workshop):
    """The first two products are split by columns and by rows, without an exchange between."""
    message = refused("pp-compile", workshop.module("mlp.py:mlp"), "--cluster=local:4", "--microbatches=4", "--emit=schedule",
                      "--annotate=params/0=split(2),params/*=split(2)", "--tensor-parallel=2", "--shard=params/0/0=1,params/1/0=0")
    assert "error: 2 stages are requested, but the annotations allow only 1: no stage can end where shards exchange no values " \
           "between two annotations; join the two, or move their border behind a residual connection" in message


@pytest.mark.parametrize("name,flags,message", (
    ("data_parallel", ("--tensor-parallel=2",), r"replicate\(3\) at annotated.py:\d+ replicates whole layers, but --tensor-parallel "
     r"splits them; leave that out, or write split\(N\) around the layers to be split"),
    ("classifier", ("--tensor-parallel=4",), r"replicate\(2\) at annotated.py:\d+ is for 2 devices, but --tensor-parallel splits "
     r"layers over 4; leave that out"),
    ("classifier", ("--plan=[0,2)x1 [2,4)x1",), r"layers that are split, as by replicate\(2\) at annotated.py:\d+, get their places "
     r"from the annotations; leave out --plan"),
    ("towers", ("--stages=4",), r"annotations ask for 2 stages, and the options for 4; leave out --stages"),
    ("towers", ("--cluster=local:2",), r"2 shards of 2 stages at a time need 4 devices, and there are 2"),
    ("classifier", ("--annotate=params/in=split(2)",), r"an operation is in replicate\(2\) at annotated.py:\d+ and in split\(2\) at "
     r"'params/in=split\(2\)'; annotations cannot be nested or apply to the same parameters, remove one of them"),
))
def test_contradictions_are_refused(workshop, name, flags, message):
    cluster = () if any("--cluster" in flag for flag in flags) else ("--cluster=local:8",)
    assert re.search("error: " + message, refused("pp-compile", workshop.module(MODEL + name), *cluster, "--microbatches=4",
                                                  "--emit=schedule", *flags))


def test_numbers_of_devices_must_agree(workshop):
    model = workshop.module("mlp.py:mlp")
    for annotations, message in (
            ("params/0=split(2),params/1=split(4)", r"split\(4\) at 'params/1=split\(4\)' and split\(2\) at 'params/0=split\(2\)' are "
             r"for different numbers of devices, but a step that has split\(N\) runs on groups of N devices: layers with "
             r"replicate\(N\) on the same ones; give both the same number"),
            ("params/0=split(33)", r"split\(33\) at 'params/0=split\(33\)' splits no parameter: none that is used there has a dimension "
             r"with at least 33 elements, or with at least 33 groups of elements such as heads, that can be split beside what is "
             r"split already"),
            ("params/0=split(5),params/1=replicate(5)", r"replicate\(5\) at 'params/1=replicate\(5\)' shares the samples of a "
             r"microbatch equally among 5 devices, but 'x' has 8; give microbatches of a multiple of 5 samples")):
        assert re.search("error: " + message, refused("pp-compile", model, "--cluster=local:64", "--microbatches=4", "--emit=schedule",
                                                      f"--annotate={annotations}"))


def test_layers_that_are_formed_cannot_be_annotated(workshop):
    graph = workshop.path("formed.mlir")
    tool("pp-opt", workshop.module("mlp.py:mlp"), "--pipeline-form-graph", "-o", graph)
    assert "error: annotations need a step, but the module has a graph, whose layers are already formed; give the step, or leave out " \
           "--annotate" in refused("pp-compile", graph, "--cluster=local:2", "--emit=schedule", "--annotate=*=split(2)")


def test_profiles_have_no_parameters(tmp_path):
    (tmp_path / "costs.chain").write_text("1 2 3\n")
    assert "is a profile, without parameters that --annotate could name; leave it out" in refused(
        "pp-plan", tmp_path / "costs.chain", "--cluster=local:2", "--microbatches=4", "--annotate=*=replicate(2)")


OTHERS = (("gpt.py:gpt", 5, "h/0=replicate(2),h/1=replicate(1)"),
          ("gpt.py:gpt", 2, "h/*/fc=split(2),h/*/proj=split(2),*=replicate(2)"),
          ("moe.py:moe", 2, "h/*/up=split(2),h/*/down=split(2)"), ("convnet.py:convnet", 4, "*=replicate(2)"))


@pytest.mark.parametrize("model,devices,annotations", [*OTHERS[:2], *thorough(OTHERS[2:])])
def test_globs_on_other_models(workshop, model, devices, annotations):
    artifact = workshop.path("globs", model, annotations, "swx")
    tool("pp-compile", workshop.module(model), f"--cluster=local:{devices}", "--microbatches=8", "--quiet", "-o", artifact,
         f"--annotate={annotations}")
    results, _ = workshop.run_artifact(model, artifact)
    wrong = golden.disagreements(workshop.golden(model)[1], results)
    assert not wrong, "\n".join(wrong)
