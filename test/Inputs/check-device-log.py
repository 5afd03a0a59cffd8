#!/usr/bin/env python3
"""Checks the emulator's log of a process's first step against the schedule and the manifest.

  check-device-log.py LOG MANIFEST.json SCHEDULE.mlir MICROBATCHES

- Every rank runs its actions in the schedule's order, on its own stream, with the same calls for each microbatch.
- Every event is recorded before a stream waits for it. During capture and replay the host does not wait and nothing is
  allocated.
- Every address lies in an allocation. A slot of a stash or a channel holds one microbatch at a time, and events order its uses
  by different streams. All copies between devices go from the sender's slot to the receiver's, in order.
- Data copied to the host and back belongs to the microbatch that reads it, and events order all uses of its slots on the
  device and on the host.

The memory layout is computed again here from the manifest, independently of the runtime. Prints counts.
"""

import bisect
import collections
import json
import re
import sys

ALIGNMENT = 64
WORK = ("launch", "matmul", "graph", "copy", "fill")


class Memory:
    """Slots by their addresses, as (first, last + 1, (kind, owner's number, slot), rank)."""

    def __init__(self, manifest, arenas, count, copied):
        self.slots, self.ends = [], [(base, base + size) for base, size in arenas]
        after = []
        for number, (rank, (base, _)) in enumerate(zip(manifest["ranks"], arenas)):
            at = base
            for buffer in rank["buffers"]:
                if buffer["place"] < 0 and not buffer.get("on_host"):  # Others are in the shared workspace.
                    at = self.ring(buffer["kind"], (number, buffer["id"]), at, buffer, count, number)
            for channel in manifest["channels"]:
                if channel["to"] == number:
                    at = self.ring("received", channel["id"], at, channel, count, number)
            after.append(at)
        for channel in manifest["channels"] if copied else ():  # Without copies, ranks share a device.
            rank = channel["from"]
            after[rank] = self.ring("sent", channel["id"], after[rank], channel, count, rank)
        self.slots.sort()
        self.firsts = [first for first, *_ in self.slots]

    def ring(self, kind, owner, at, it, count, rank):
        stride = (it["bytes"] + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        slots = -(-count // it["depth"]) if it["depth_all"] else min(it["depth"], count)
        for slot in range(slots):
            self.slots.append((at + slot * stride, at + (slot + 1) * stride, (kind, owner, slot), rank))
        return at + slots * stride

    def at(self, address):
        place = bisect.bisect_right(self.firsts, address) - 1
        return self.slots[place][2] if place >= 0 and address < self.slots[place][1] else None

    def holds(self, address):
        return any(first <= address < end for first, end in self.ends)


class Step:
    """One captured step, line by line."""

    def __init__(self, manifest, memory, streams):
        self.memory, self.rank_of = memory, {stream: rank for rank, stream in enumerate(streams)}
        # The last argument of these kernels is not an address, but bits and a count (sw_sums).
        self.sums = {kernel["name"] for kernel in manifest["kernels"] if kernel["sums"] or kernel["adds"]}
        self.stage_rank = {stage: rank for rank, it in enumerate(manifest["ranks"]) for stage in it["stages"]}
        self.clocks, self.events = collections.defaultdict(collections.Counter), {}
        self.open, self.order, self.calls = [], collections.defaultdict(list), collections.defaultdict(list)
        self.last = collections.defaultdict(dict)  # By slot and stream: the time of the last use.
        self.holder, self.done = {}, collections.defaultdict(set)  # By slot: its microbatch, and earlier ones.
        self.copies, self.numbers = collections.defaultdict(list), collections.Counter()
        self.hosted, self.fetched = {}, set()  # By place on the host: its microbatch. Slots that were filled from the host.

    def read(self, line):
        word, _, rest = line.partition(" ")
        fields = dict(pair.split("=", 1) for pair in rest.split() if "=" in pair)
        assert word not in ("synchronize", "alloc", "free", "pin", "unpin", "heuristic", "stream"), line
        if word == "range":
            letter, m, stage = re.fullmatch(r"([A-Z])(\d+) of stage (\d+)", rest).groups()
            rank = self.stage_rank[int(stage)]
            self.open.append((rank, stage, letter, int(m)))
            if self.order[rank][-1:] != [f"{stage}{letter}{m}"]:  # Otherwise the last action continues.
                self.order[rank].append(f"{stage}{letter}{m}")
        elif word == "end":
            self.open.pop()
        elif "stream" in fields:
            self.enqueued(word, int(fields["stream"]), fields, line)

    def enqueued(self, word, stream, fields, line):
        clock = self.clocks[stream]
        clock[stream] += 1
        if word == "record":
            self.events[fields["event"]] = collections.Counter(clock)
        elif word == "wait":
            assert fields["event"] in self.events and "unrecorded" not in line, f"waits for what was not recorded: {line}"
            self.clocks[stream] = clock | self.events[fields["event"]]
            self.numbers["waits"] += 1
        elif word == "peer":
            self.copies[self.copied(fields)].append(stream)
            for key in ("to", "from"):
                self.ordered(self.memory.at(int(fields[key], 16)), stream, line)
        elif word in ("upload", "download"):
            self.offload(word, stream, fields, line)
        elif word in WORK:
            self.work(word, stream, fields, line)

    def offload(self, word, stream, fields, line):
        slot = self.memory.at(int(fields["from" if word == "download" else "to"], 16))
        assert slot and slot[0] == "stash" and stream not in self.rank_of, f"no stash, or not on a stream of its own: {line}"
        host = ("host", fields["host"])
        if word == "download":
            self.hosted[host] = self.holder[slot]
        else:
            assert host in self.hosted, f"nothing has left for there: {line}"
            self.done[slot].add(self.holder.get(slot))
            self.holder[slot] = self.hosted.pop(host)
        for place in (slot, host):
            self.ordered(place, stream, line)
        self.fetched.update([slot] if word == "upload" else [])
        self.numbers[word] += 1

    def work(self, word, stream, fields, line):
        rank = self.rank_of[stream]
        action = self.open[-1] if self.open else None
        assert action is None or action[0] == rank, f"{line}\nis called within {action} of another rank"
        if action:
            self.calls[action].append((word, fields.get("kernel"), fields.get("a"), fields.get("b"), fields.get("plan")))
        arguments = fields.get("arguments", "").split(",")
        if fields.get("kernel") in self.sums:
            arguments.pop()
        texts = arguments + [fields.get(key, "") for key in ("to", "from", "first")]
        for address in (int(text, 16) for text in texts if text.startswith("0x")):
            if address < 1 << 32:  # A number, not an address.
                continue
            assert self.memory.holds(address), f"{address:#x} is on no device: {line}"
            slot = self.memory.at(address)
            if slot and slot[0] in ("stash", "received", "sent"):
                self.hold(slot, action, line)
            if slot and slot[0] in ("stash", "received", "sent"):
                self.ordered(slot, stream, line)
        self.numbers["calls"] += 1

    def hold(self, slot, action, line):
        assert action, f"{slot} is used outside of an action: {line}"
        m = action[3]
        assert m not in self.done[slot], f"{slot} had been given away by microbatch {m}: {line}"
        assert slot not in self.fetched or self.holder[slot] == m, f"{slot} holds microbatch {self.holder[slot]}: {line}"
        if self.holder.get(slot, m) != m:
            self.done[slot].add(self.holder[slot])
        self.holder[slot] = m

    def ordered(self, slot, stream, line):
        assert slot, line
        for other, when in self.last[slot].items():
            assert self.clocks[stream][other] >= when, f"{slot} may be in use by stream {other}: {line}"
        self.last[slot][stream] = self.clocks[stream][stream]

    def copied(self, fields):
        """The channel of a copy between devices."""
        source, target = (self.memory.at(int(fields[key], 16)) for key in ("from", "to"))
        assert source[0] == "sent" and target[0] == "received" and source[1:] == target[1:], (source, target)
        assert target[2] == len(self.copies[target[1]]) % (1 + max(s[2][2] for s in self.memory.slots if s[2][:2] == target[:2]))
        return target[1]


def main(log, manifest, schedule, microbatches):
    manifest, count, lines = json.load(open(manifest)), int(microbatches), open(log).read().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("capture "))
    end = next(i for i, line in enumerate(lines) if line.startswith("captured "))
    arenas = [(int(at, 16), int(size)) for at, size in
              (re.search(r"at=(\S+) bytes=(\d+)", line).groups() for line in lines[:start] if line.startswith("alloc "))]
    assert len(arenas) == len(manifest["ranks"]), "one allocation for each rank"
    streams = [int(re.search(r"id=(\d+)", line)[1]) for line in lines[:start] if line.startswith("stream ")]
    copied = any(line.startswith("peer ") for line in lines)
    step = Step(manifest, Memory(manifest, arenas, count, copied), streams[:len(arenas)])
    for line in lines[start + 1:end]:
        step.read(line)
    wanted = [re.findall(r"\d+[FBIWR]\d+", order) for order in re.findall(r"pipeline\.order \d+ <([^>]*)>", open(schedule).read())]
    assert wanted, f"{schedule} has no order"
    for rank, order in enumerate(wanted):
        found = [action for action in step.order[rank] if re.search("[FBIWR]", action)]
        assert found == order, f"rank {rank} does {found}\nthe schedule says {order}"
    assert not step.hosted and step.numbers["download"] == step.numbers["upload"], step.numbers
    alike = collections.defaultdict(set)
    for (_, stage, letter, _), calls in step.calls.items():
        alike[stage, letter].add(tuple(calls))
    assert all(len(calls) == 1 for calls in alike.values()), "microbatches of one action do different work"
    # One copy per microbatch, or one in all for messages of updates.
    assert all(len(found) in (count, 1) for found in step.copies.values()), step.copies
    replays = [i for i, line in enumerate(lines) if line.startswith("replay ")]
    between = [line for line in lines[replays[0]:replays[-1]] if not line.startswith(("replay ", "record "))]
    assert len(replays) > 1 and not between, between
    print(f"{sum(map(len, wanted))} actions, {step.numbers['calls']} calls, {step.numbers['waits']} waits, "
          f"{sum(map(len, step.copies.values()))} copies between devices, {len(step.holder)} slots, "
          f"{step.numbers['download']} to the host, {step.numbers['upload']} back")


if __name__ == "__main__":
    main(*sys.argv[1:])
