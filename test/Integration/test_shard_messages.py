"""The messages between shards and between their stages, counted."""

import json

import pytest

from emulator import NEEDED, emulated
from sharded import GPT, LLAMA, MICROBATCHES, MPI, agrees_with_jax, compiled, crossing, messages, sent
from workshop import tool


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


@NEEDED
def test_devices_send_what_threads_do(tmp_path, imported):
    folder, flags = imported("gpt.py:gpt"), ("--data-parallel=2",)
    threads = sent(compiled(folder, tmp_path / "host.swx", 2, GPT, *flags, groups=2), folder)
    artifact = compiled(folder, tmp_path / "device.swx", 2, GPT, *flags, "--target=cuda:sm_90a", cluster="h100")
    assert sent(artifact, folder, "env", *(f"{name}={value}" for name, value in emulated().items())) == threads
