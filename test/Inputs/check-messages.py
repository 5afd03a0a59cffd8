#!/usr/bin/env python3
"""Checks the messages in the emulator's log of every process.

  check-messages.py LOG...

Each communicator is created once at both ends and carries the same messages and sums in the same order at both. Before the
capture, each end tries each size that it will carry once, on the same stream, whose priority is higher than that of computing.
Between the first and the last replay of a graph, no process waits for its device. Prints counts.
"""

import collections
import re
import sys

made = collections.Counter()
carried = collections.defaultdict(list)
sums = set()
for path in sys.argv[1:]:
    lines = open(path).read().splitlines()
    ends, trials = collections.defaultdict(list), collections.defaultdict(list)
    captures, priorities = False, {}
    for line in lines:
        captures |= line.startswith("capture ")
        if stream := re.match(r"stream id=(\d+) .*priority=(\S+)$", line):
            priorities[stream[1]] = int(stream[2])
        if found := re.match(r"(communicator|ncclSend|ncclRecv|ncclAllReduce|mismatch) comm=(\S+) (?:stream=(\d+))?.*?(?:bytes=(\d+))?$",
                             line):
            word, name, stream, size = found.groups()
            assert word != "mismatch", line
            if word == "communicator":
                made[name] += 1
            else:
                (ends if captures else trials)[name, stream].append(int(size))
                sums |= {name} if word == "ncclAllReduce" else set()
                assert priorities[stream] == min(priorities.values()) < 0, (line, priorities)  # computing has priority 0
    for (name, stream), sizes in ends.items():
        carried[name].append(sizes)
        tried = trials[name, stream]
        assert sorted(set(sizes)) == sorted(tried), (name, "tried", tried, "carried", sizes)
    replays = [i for i, line in enumerate(lines) if line.startswith("replay")]
    for line in lines[replays[0] : replays[-1]]:
        assert not line.startswith(("synchronize", "alloc", "communicator", "pin")), line
assert made and set(made.values()) == {2}, made
for name, ends in carried.items():
    assert len(ends) == 2 and ends[0] == ends[1], (name, ends)
count = {summed: sum(len(ends[0]) for name, ends in carried.items() if (name in sums) == summed) for summed in (False, True)}
print(f"{len(made)} communicators, {count[False]} messages, {count[True]} sums")
