"""How much of a rank's computation may run beside its sums over ranks, by the emulator's log of a captured step."""

import collections
import re

CALL = re.compile(r"(launch|matmul|graph|record|wait|ncclAllReduce) (?:comm=\S+ )?stream=(\d+)(?: event=(\d+))?")


def beside_sums(log):
    """For every rank in the log, by its device: for each of its sums, the number of kernels and products that its computation
    enqueues after what the sum waits for, and before it waits for the sum."""
    clocks = collections.defaultdict(collections.Counter)  # By stream: the calls of each stream that it comes after.
    recorded, devices, computing = {}, {}, {}
    pending, ends = {}, {}  # Sums by stream until their event is recorded, then by event.
    found = collections.defaultdict(list)
    lines = log.splitlines()
    for line in lines:
        if made := re.match(r"stream id=(\d+) device=(\d+)", line):
            devices[made[1]] = made[2]
            computing.setdefault(made[2], made[1])  # It is the first stream of its device.
    start = next(i for i, line in enumerate(lines) if line.startswith("capture "))
    for line in lines[start : next(i for i, line in enumerate(lines) if line.startswith("captured "))]:
        if not (call := CALL.match(line)):
            continue
        word, stream, event = call.groups()
        clock, device = clocks[stream], devices[stream]
        if word == "record":
            recorded[event] = clock.copy()
            ends[event] = pending.pop(stream, None)
        elif word == "wait":
            clocks[stream] = clock | recorded[event]
            if stream == computing[device] and (begun := ends.get(event)) is not None:
                found[device].append(clock[stream] - begun)
                ends[event] = None
        elif word == "ncclAllReduce":
            pending[stream] = clock[computing[device]]
        else:
            clock[stream] += 1
    return dict(found)
