"""Every kind of schedule on four ranks: JAX's numbers, in the order of the schedule, in the printed memory.

Eight different microbatches of a small GPT of eight layers. Generated schedules are read as `pp-compile
--emit=schedule` prints them; orders edited by hand start from such text."""

import json
import re

import pytest
from safetensors.numpy import load_file

import golden
from workshop import HERE, tool

GPT, RANKS, MICROBATCHES = "gpt.py:gpt_deep", 4, 8
WHOLE = ("gpipe", "1f1b", "eager-1f1b", "early-backward", "window")
SPLIT = ("zb-h1", "zb-h2")
CHUNKS = ("interleaved", "breadth-first", "looped-bfs", "interleaved-zb", "looped-zb", "looped-zb-wide", "zb-v", "v-half", "v-min", "dualpipe-v")
TWINS = ("dualpipe", "chimera")
TORCH = HERE.parent / "Unit/Scheduling/Fixtures/torch"
FILES = tuple(str(TORCH / f"{name}-p4-m8-v2.csv") for name in ("Interleaved1F1B", "ZBVZeroBubble", "DualPipeV"))


def scheduled(workshop, kind, model=GPT, *flags):
    """The text of the scheduled program."""
    def make(path):
        tool("pp-compile", workshop.module(model), f"--cluster=local:{RANKS}", f"--schedule={kind}",
             f"--microbatches={MICROBATCHES}", "--emit=schedule", "--quiet", *(flags or ("--max-replicas=1",)), "-o", path)
    return workshop.once(("schedule", kind, model, *flags),
                         lambda: workshop.file(make, "schedule", short(kind), model, *flags, "mlir").read_text())


def short(kind):
    """The name of a generator, or of a file without its folder."""
    return kind.rsplit("/")[-1]


def orders(text):
    """Each rank's actions as text; the actions of a pair follow each other."""
    found = re.findall(r"pipeline\.order \d+ <([^>]*)>", text)
    assert found, text
    return [re.findall(r"\d+[FBIWR]\d+", order) for order in found]


def with_orders(text, new):
    new = iter(new)
    return re.sub(r"(pipeline\.order \d+ <)[^>]*", lambda match: match[1] + ", ".join(next(new)), text)


class Found:
    """Results, output and trace of a run of a scheduled program."""

    def __init__(self, workshop, name, text, model=GPT):
        self.model = model
        def make(path):
            source = path.with_suffix(".mlir")
            source.write_text(text)
            tool("pp-compile", source, "--quiet", "-o", path)
        self.artifact, trace = workshop.file(make, "found", name, model, "swx"), workshop.path(name, "json")
        self.manifest = json.loads(tool("pp-run", self.artifact, "--info=json"))
        self.results, self.printed = workshop.run_artifact(model, self.artifact, "--check-memory", f"--trace={trace}")
        self.events = json.loads(trace.read_text())["traceEvents"]

    def order(self, rank):
        """The rank's actions in the trace, by time, without updates; process 0 is the devices."""
        actions = [e for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) == (0, rank)]
        return [e["name"] for e in sorted(actions, key=lambda e: e["ts"]) if e["cat"] != "update"]


def check(workshop, found, text):
    """Checks results, order and memory."""
    wrong = golden.disagreements(workshop.golden(found.model)[1], found.results)
    assert not wrong, "\n".join(wrong)
    for rank, order in enumerate(orders(text)):
        assert found.order(rank) == order
    seen = re.findall(r"rank (\d+): live bytes (\d+), printed (\d+), arena (\d+)", found.printed)
    assert len(seen) == RANKS
    for rank, live, printed, arena in seen:
        memory, buffers = found.manifest["ranks"][int(rank)]["memory"], found.manifest["ranks"][int(rank)]["buffers"]
        assert (int(arena), int(printed)) == (memory["arena"], memory["live_peak"])
        assert abs(int(live) - int(printed)) <= 64 * len(buffers)


def run(workshop, name, text, model=GPT):
    return workshop.once(("found", name, model), lambda: Found(workshop, name, text, model))


@pytest.mark.parametrize("kind", WHOLE + SPLIT + CHUNKS + TWINS + ("auto",) + FILES, ids=short)
def test_a_schedule_gives_the_numbers_of_jax_in_its_order(workshop, kind):
    text = scheduled(workshop, kind)
    check(workshop, run(workshop, short(kind), text), text)


@pytest.mark.parametrize("stages, replicas, sizes", ((7, 1, [2, 2, 2, 1]), (3, 2, [2, 1, 2, 1])))
@pytest.mark.parametrize("kind", ("looped-zb", "breadth-first"))
def test_the_last_ranks_of_a_loop_may_have_a_stage_fewer(workshop, kind, stages, replicas, sizes):
    text = scheduled(workshop, kind, GPT, f"--stages={stages}", f"--max-replicas={replicas}")
    assert [len({re.match(r"\d+", action)[0] for action in order}) for order in orders(text)] == sizes
    check(workshop, run(workshop, f"{kind}-{stages}", text), text)


@pytest.mark.parametrize("kind, memory", (("searched-zb", 1 << 30), ("searched", 500 << 10)))
def test_a_plan_is_improved_by_a_search_and_runs_as_it_says(workshop, kind, memory):
    """It runs in the planned order and within --memory; pp-plan's JSON gives the same plan and predicted time."""
    flags = [f"--cluster=local:{RANKS}", f"--microbatches={MICROBATCHES}", "--max-replicas=1", f"--memory={memory}"]
    text = scheduled(workshop, "plan", GPT, *flags)
    assert f'"{kind}"' in text
    found = run(workshop, kind, text)
    check(workshop, found, text)
    assert max(rank["memory"]["arena"] for rank in found.manifest["ranks"]) <= memory
    path, flags = workshop.path(kind, "json"), [workshop.module(GPT), *flags]
    path.write_text(tool("pp-plan", *flags, "--json"))
    plan, again = json.loads(path.read_text()), json.loads(tool("pp-plan", *flags, f"--plan={path}", "--json"))
    assert (plan["schedule"], plan["time_s"]) == (kind, found.manifest["plan"]["time"])
    assert [again[key] for key in ("schedule", "time_s", "stages")] == [plan[key] for key in ("schedule", "time_s", "stages")]
    artifact = workshop.path(kind, "given.swx")
    tool("pp-compile", *flags, f"--plan={path}", "--quiet", "-o", artifact)
    given = json.loads(tool("pp-run", artifact, "--info=json"))
    assert (given["schedule"], given["plan"]["time"]) == (kind, plan["time_s"])
    named = json.loads(tool("pp-plan", *flags, "--schedule=dualpipe-v" if kind == "searched-zb" else "--schedule=interleaved", "--json"))
    assert plan["time_s"] < named["time_s"]


def test_inference_in_groups_of_microbatches(workshop):
    """Logits are joined over the microbatches."""
    model = "gpt.py:gpt_forward"
    text = scheduled(workshop, "forward-only", model)
    check(workshop, run(workshop, "forward-only", text, model), text)


@pytest.mark.parametrize("kind", TWINS)
def test_results_of_twins_are_joined(workshop, kind):
    """Two ranks have a stage, each for half of the microbatches: logits are on both, results of the last microbatch on one."""
    model = "gpt.py:gpt_deep_results"
    text = scheduled(workshop, kind, model)
    check(workshop, run(workshop, f"{kind}-results", text, model), text)


@pytest.mark.parametrize("kinds", (WHOLE, SPLIT, ("interleaved", "breadth-first"), ("zb-v", "v-half", "v-min")))
def test_orders_that_accumulate_alike_give_the_same_bits(workshop, kinds):
    """If the backwards of each stage go through the microbatches in increasing order, the bits are the same."""
    first = None
    for kind in kinds:
        text = scheduled(workshop, kind)
        for order in orders(text):
            sums = [(a[:a.index(k)], k, int(a[a.index(k) + 1:])) for a in order for k in "BW" if k in a]
            assert all(a[2] < b[2] for i, a in enumerate(sums) for b in sums[i + 1:] if a[:2] == b[:2])
        bits = {key: value.tobytes() for key, value in run(workshop, kind, text).results.items()}
        first = first or bits
        assert bits == first


def edited(order):
    """Swaps the first two forwards and the last two backwards, so that no rank waits forever."""
    order = list(order)
    order[0], order[1] = order[1], order[0]
    order[-1], order[-2] = order[-2], order[-1]
    return order


def test_an_order_edited_by_hand(workshop):
    text = scheduled(workshop, "gpipe")
    new = with_orders(text, [edited(order) for order in orders(text)])
    assert orders(new) != orders(text)
    found = run(workshop, "edited", new)
    check(workshop, found, new)
    with pytest.raises(AssertionError, match="the artifact runs 8 only: its schedule 'gpipe' is an order for that"):
        tool("pp-run", found.artifact, f"--inputs={workshop.golden(GPT)[0]}", "--microbatches=3")


def recomputed(order, stage, chosen):
    return [part for action in order for part in
            ([action.replace("B", "R"), action] if re.fullmatch(rf"{stage}B({chosen})", action) else [action])]


@pytest.mark.parametrize("chosen", (r"\d", "[0246]"), ids=("all", "even"))
def test_forwards_run_again(workshop, chosen):
    """Stage 0 holds four microbatches; if its forwards run again, it keeps only their inputs."""
    text = scheduled(workshop, "1f1b")
    new = with_orders(text, [recomputed(order, 0, chosen) for order in orders(text)])
    found = run(workshop, f"recomputed-{chosen}", new)
    check(workshop, found, new)
    if chosen == r"\d":
        kept = run(workshop, "1f1b", text).manifest["ranks"][0]["memory"]["stash"]
        assert found.manifest["ranks"][0]["memory"]["stash"] < kept / 2


def test_microbatches_go_to_replicas_in_turn(workshop):
    """Devices 1 and 3 swap their odd microbatches: two routes, and each gradient of stages 1 and 3 is summed in two parts."""
    text = scheduled(workshop, "gpipe")
    for here, there in ((1, 3), (3, 1)):
        text = text.replace(f"pipeline.stage {here} on [@d{here}]", f"pipeline.stage {here} on [@d{here}, @d{there}]")
    one, two = orders(text)[1], orders(text)[3]
    even = [a for a in one if int(a[-1]) % 2 == 0], [a for a in two if int(a[-1]) % 2 == 0]
    odd = [a for a in one if int(a[-1]) % 2], [a for a in two if int(a[-1]) % 2]
    forward = [[a for a in part if "F" in a] for part in (*even, *odd)]
    backward = [[a for a in part if "B" in a] for part in (*even, *odd)]
    given = orders(text)
    given[1] = forward[0] + forward[3] + backward[3] + backward[0]
    given[3] = forward[2] + forward[1] + backward[1] + backward[2]
    new = with_orders(text, given)
    check(workshop, run(workshop, "replicas", new), new)


def with_replicas(workshop, kind, counts):
    """The text of a schedule in which stage s is on counts[s] devices."""
    name, devices = "-".join(map(str, counts)), iter(range(RANKS))
    program, edited = workshop.path("program", kind, name, "mlir"), workshop.path("replicas", kind, name, "mlir")
    tool("pp-compile", workshop.module(GPT), f"--cluster=local:{RANKS}", f"--stages={len(counts)}",
         f"--microbatches={MICROBATCHES}", f"--schedule={kind}", "--max-replicas=1", "--emit=program", "--quiet", "-o", program)
    text = program.read_text()
    for stage, count in enumerate(counts):
        of = ", ".join(f"@d{next(devices)}" for _ in range(count))
        text, found = re.subn(rf"(pipeline\.stage {stage} on )\[[^\]]*\]", rf"\1[{of}]", text)
        assert found == 1
    edited.write_text(text)
    scheduled = workshop.path("replicas", "schedule", kind, name, "mlir")
    tool("pp-compile", edited, f"--schedule={kind}", "--emit=schedule", "--quiet", "-o", scheduled)
    return scheduled.read_text()


@pytest.mark.parametrize("counts", ((1, 3), (3, 1), (1, 2, 1), (2, 2)), ids=str)
@pytest.mark.parametrize("kind", ("gpipe", "1f1b", "zb-h1"))
def test_replicas_take_microbatches_in_turn(workshop, kind, counts):
    """Microbatch m runs on replica m mod r; the replicas sum their gradients together."""
    text = with_replicas(workshop, kind, counts)
    found = run(workshop, f"{kind}-{counts}", text)
    check(workshop, found, text)
    assert {len(c["buckets"]) for c in found.manifest["collectives"]} == set(counts) - {1}
    ranks = {stage: [rank for rank, order in enumerate(orders(text)) if any(a[0] == str(stage) for a in order)]
             for stage in range(len(counts))}
    for stage, count in enumerate(counts):
        assert len(ranks[stage]) == count
        taken = [sorted({int(a[2:]) for a in orders(text)[rank] if a[0] == str(stage)}) for rank in ranks[stage]]
        assert taken == [list(range(i, MICROBATCHES, count)) for i in range(count)]


def test_twins_sum_in_buckets(workshop):
    """Smaller buckets give more sums and the same bits."""
    text = scheduled(workshop, "dualpipe")
    artifact, out = workshop.path("buckets", "swx"), workshop.path("buckets", "safetensors")
    few = run(workshop, "dualpipe", text)
    tool("pp-compile", few.artifact.with_suffix(".mlir"), "--bucket-bytes=40000", "--quiet", "-o", artifact)
    many = json.loads(tool("pp-run", artifact, "--info=json"))["collectives"]
    assert len(many) > len(few.manifest["collectives"]) == 2
    tool("pp-run", artifact, f"--inputs={workshop.golden(GPT)[0]}", f"--outputs={out}", "--check-memory")
    assert {k: v.tobytes() for k, v in load_file(out).items()} == {k: v.tobytes() for k, v in few.results.items()}
