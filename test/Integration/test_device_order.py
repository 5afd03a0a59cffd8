"""Whole models compiled for the three architectures and run on the emulator: the calls, their order and the memory that
they use match the schedule and the manifest. Values are not checked here; test_kernels.py checks those of kernels."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from emulator import LIBRARY, NEEDED, emulated
from tiers import thorough
from workshop import HERE, call, tool

CHECK = HERE.parent / "Inputs/check-device-log.py"
MICROBATCHES, ARCHITECTURES = 4, ["sm_80", "sm_90a", "sm_100"]
STEPS = [("gpt.py:gpt_deep", 4, "1f1b"), ("gpt.py:gpt_deep", 4, "zb-h1"), ("gpt.py:gpt_deep", 2, "interleaved"),
         ("llama.py:llama", 2, "gpipe"), ("convnet.py:convnet", 2, "1f1b"), ("training.py:gpt_adamw", 2, "1f1b")]

pytestmark = NEEDED


def compiled(workshop, model, stages, schedule, *more, cluster=None, microbatches=MICROBATCHES):
    """Paths of artifact, manifest, schedule and inputs, by file ending."""
    def make():
        path = {end: workshop.path("order", model, stages, schedule, *more, end) for end in ("swx", "json", "mlir", "safetensors")}
        flags = [workshop.module(model), "--target=cuda", f"--cluster={cluster or f'local:{stages}'}", f"--schedule={schedule}",
                 f"--microbatches={microbatches}", "--max-replicas=1", "--quiet", *more]
        tool("pp-compile", *flags, "-o", path["swx"])
        tool("pp-compile", *flags, "--emit=schedule", "-o", path["mlir"])
        path["json"].write_text(tool("pp-run", path["swx"], "--info=json"))
        arguments = json.loads(path["json"].read_text())["arguments"]
        front = {"batch": (microbatches,)}
        save_file({str(it["position"]): np.zeros((*front.get(it["role"], ()), *it["shape"]), {"i32": np.int32}.get(it["dtype"], np.float32))
                   for it in arguments if it["position"] >= 0}, path["safetensors"])
        return path
    return workshop.once(("order", model, stages, schedule, *more), make)


def record(path, log, *flags, devices=1):
    tool("pp-run", path["swx"], f"--inputs={path['safetensors']}", "--steps=3", "--nan=ignore", *flags,
         env={**emulated(log=log, records=1, devices=devices), "STAGEWRIGHT_NVTX_LIBRARY": str(LIBRARY)})
    return log


@pytest.mark.parametrize("model, stages, schedule", STEPS)
def test_what_is_called_is_what_the_schedule_says(workshop, tmp_path, model, stages, schedule):
    path = compiled(workshop, model, stages, schedule)
    assert json.loads(path["json"].read_text())["target"]["architectures"] == ARCHITECTURES
    for devices in (1, stages):
        log = record(path, tmp_path / f"{devices}.log", devices=devices)
        said = call(sys.executable, CHECK, log, path["json"], path["mlir"], MICROBATCHES)
        assert (int(re.search(r"(\d+) copies", said)[1]) > 0) == (devices > 1), said


@pytest.mark.parametrize("schedule, stages", [("gpipe", 2), ("1f1b", 4)])
def test_stashes_go_to_the_host_and_come_back(workshop, tmp_path, schedule, stages):
    path = compiled(workshop, "gpt.py:gpt_deep", stages, schedule, f"--stages={stages}", "--offload=all",
                    cluster=HERE / "clusters/host.json", microbatches=8)
    kept = sum(buffer.get("on_host", False) for rank in json.loads(path["json"].read_text())["ranks"] for buffer in rank["buffers"])
    assert f"stashes      {8 * kept} copies to the host, {8 * kept} back" in tool("pp-run", path["swx"], "--dry-run")
    for devices in (1, stages):
        log = record(path, tmp_path / f"{devices}.log", devices=devices)
        said = call(sys.executable, CHECK, log, path["json"], path["mlir"], 8)
        assert f"{8 * kept} to the host, {8 * kept} back" in said, said


@pytest.mark.parametrize("model", ["gpt.py:gpt_bfloat16", "moe.py:moe", "attention.py:masked", "training.py:tied_adamw", *thorough((
    "gpt.py:gpt_tied", "gpt.py:gpt_dropout", "gpt.py:gpt_scan", "encoder_decoder.py:encoder_decoder", "mlp.py:mlp"))])
def test_every_model_is_proved(workshop, model):
    """A dry run verifies that kernels get only addresses of their own device, and the order of events."""
    step = workshop.path("proved", model, "swx")
    tool("pp-compile", workshop.module(model), "--target=cuda:sm_90a", "--cluster=local:2", "--stages=2", "--schedule=1f1b",
         "--microbatches=3", "--quiet", "-o", step)
    for flags in ((), ("--processes",), ("--devices=0,0", "--microbatches=5")):
        assert "verified     awaited events are recorded before" in tool("pp-run", step, "--dry-run", *flags)


def without_a_wait(lines):
    """Removes a wait for a message; every wait between the beginning and the end of a step is needed."""
    first = next(i for i, line in enumerate(lines) if line.startswith("range F0 of stage 1"))
    del lines[max(i for i in range(first + 3) if lines[i].startswith("wait "))]


def with_an_address_of_the_host(lines):
    place = next(i for i, line in enumerate(lines) if line.startswith("launch "))
    lines[place] = re.sub("arguments=0x[0-9a-f]+", "arguments=0x7fff00001000", lines[place])


def with_the_host_waiting(lines):
    lines.insert(next(i for i, line in enumerate(lines) if line.startswith("range ")), "synchronize stream=0")


def with_another_order(lines):
    lines[:] = [line.replace("range F1 of", "range F2 of") if "range F1" in line else line.replace("range F2 of", "range F1 of")
                for line in lines]


def with_a_slot_given_twice(lines):
    """Gives the second microbatch the slots of the first."""
    def launches(m):
        begin = lines.index(f"range F{m} of stage 0")
        return [i for i in range(begin, lines.index("end", begin)) if lines[i].startswith("launch ")]
    for first, second in zip(launches(0)[:5], launches(1)):  # before the message is written
        lines[second] = lines[first]


@pytest.mark.parametrize("change, text", [
    (without_a_wait, "may be in use by stream"), (with_an_address_of_the_host, "0x7fff00001000 is on no device"),
    (with_the_host_waiting, "synchronize stream=0"), (with_another_order, "the schedule says"),
    (with_a_slot_given_twice, "had been given away by microbatch")])
def test_the_check_finds_what_is_wrong(workshop, tmp_path, change, text):
    path = compiled(workshop, *STEPS[0])
    log = record(path, tmp_path / "log")
    lines = log.read_text().splitlines()
    change(lines)
    log.write_text("\n".join(lines) + "\n")
    done = subprocess.run([sys.executable, CHECK, log, path["json"], path["mlir"], str(MICROBATCHES)], capture_output=True, text=True,
                          env=os.environ)
    assert done.returncode == 1 and text in done.stderr, done.stderr
