#!/usr/bin/env python3
"""Proves optimal schedules of small instances with CP-SAT.

    pip install ortools==9.15.6755
    solve.py random > random.txt    # and equal, unequal, v

A line of a table is `placement p v m M | F | I | W | A | K | hops | span makespan
span_any makespan_any`: costs by stage (one number: all equal). A is held from F
to I, K from I to W, at most M on a rank. The first two optima are over orders that
are first in, first out per stage and kind, the last two over all orders; `-` is an
optimum that was not proved within the limit, or not tried. Makespans are optimised without any
constraint on the span. Only instances with proved first two optima are printed.

The limit is in deterministic time, on one thread with a fixed seed, so the same
version of the solver gives the same tables again.
"""

import random
import sys

from ortools.sat.python import cp_model

SEED = 20260
LIMIT = 8.0  # deterministic time per solve, about as many seconds
LIMIT_ANY = 3.0  # the same for all orders

# Random instances: p m F I W c M_B M_W M.
RANDOM = """
3 6 9 9 5 1 4 1 24
3 6 7 9 3 0 6 3 16
2 6 9 8 7 0 6 4 22
4 4 7 3 8 2 4 1 9
2 4 7 3 8 1 6 4 21
2 6 4 8 4 1 4 3 9
3 6 5 6 6 0 6 3 36
2 6 5 3 2 2 4 2 9
3 5 3 3 8 2 4 1 14
2 5 6 8 5 1 4 3 11
4 5 5 3 4 1 4 2 32
2 4 4 8 2 0 4 2 15
2 6 7 4 5 2 4 3 10
3 6 6 3 5 1 4 1 16
4 5 3 4 3 1 4 1 12
2 5 5 3 8 2 6 3 18
2 4 3 4 6 2 4 1 13
3 6 6 4 6 1 4 2 13
4 4 5 4 8 2 4 3 14
2 6 8 7 3 2 6 4 21
2 5 3 3 2 0 6 2 23
4 5 5 6 8 2 6 3 45
2 6 3 4 3 1 4 2 11
2 6 3 3 4 1 6 2 12
"""


class Instance:
    """One row of a table, without its optima."""

    def __init__(self, placement, p, v, m, memory, costs, hops):
        self.placement, self.p, self.v, self.m = placement, p, v, m
        self.memory, self.costs, self.hops = memory, costs, hops

    @property
    def stages(self):
        return self.p * self.v

    def rank(self, stage):
        if self.placement == "v" and stage // self.p % 2 == 1:
            return self.p - 1 - stage % self.p
        return stage % self.p

    def of(self, name, stage):
        return self.costs[name][stage % len(self.costs[name])]

    def hop(self, stage):
        """The cost of a hop from `stage` to the next one; 0 within a rank."""
        if self.rank(stage) == self.rank(stage + 1):
            return 0
        return self.hops[stage % len(self.hops)]

    def __str__(self):
        head = f"{self.placement} {self.p} {self.v} {self.m} {self.memory}"
        lists = [self.costs[name] for name in "FIWAK"] + [self.hops]
        return " | ".join([head] + [",".join(map(str, x)) for x in lists])


def equal(p, m, f, i, w, c, a, k, memory):
    costs = {"F": [f], "I": [i], "W": [w], "A": [a], "K": [k]}
    return Instance("linear", p, 1, m, memory, costs, [c])


def solve(instance, objective, fifo):
    """The optimum if it is proved, else None."""
    model = cp_model.CpModel()
    stages, m = range(instance.stages), range(instance.m)
    work = instance.m * sum(
        instance.of(k, s) for s in stages for k in "FIW"
    ) + 2 * instance.m * sum(instance.hop(s) for s in stages[:-1])
    start, end, interval = {}, {}, {}
    for s in stages:
        for k in "FIW":
            for j in m:
                key, length = (k, s, j), instance.of(k, s)
                start[key] = model.new_int_var(0, work, "")
                end[key] = start[key] + length
                interval[key] = model.new_fixed_size_interval_var(
                    start[key], length, ""
                )
    for j in m:
        for s in stages:
            if s > 0:
                ready = end["F", s - 1, j] + instance.hop(s - 1)
                model.add(start["F", s, j] >= ready)
                ready = end["I", s, j] + instance.hop(s - 1)
                model.add(start["I", s - 1, j] >= ready)
            model.add(start["I", s, j] >= end["F", s, j])
            model.add(start["W", s, j] >= end["I", s, j])
            if j == 0:
                continue
            # Without first in first out, microbatches are numbered as stage 0
            # starts them.
            for k in "FIW":
                if fifo or (s == 0 and k == "F"):
                    model.add(start[k, s, j] >= end[k, s, j - 1])
    value = model.new_int_var(0, work, "")
    for rank in range(instance.p):
        mine = [s for s in stages if instance.rank(s) == rank]
        model.add_no_overlap(
            interval[k, s, j] for s in mine for k in "FIW" for j in m
        )
        held, sizes = [], []
        for s in mine:
            a, kept = instance.of("A", s), instance.of("K", s)
            for j in m:
                for size, last in ((a - kept, "I"), (kept, "W")):
                    length = model.new_int_var(0, work, "")
                    first, stop = start["F", s, j], end[last, s, j]
                    held.append(
                        model.new_interval_var(first, length, stop, "")
                    )
                    sizes.append(size)
        model.add_cumulative(held, sizes, instance.memory)
        begin = model.new_int_var(0, work, "")
        for s in mine:
            for j in m:
                if objective == "span":
                    model.add(begin <= start["F", s, j])
                    model.add(value >= end["W", s, j] - begin)
                else:
                    model.add(value >= end["W", s, j])
    model.minimize(value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = SEED
    solver.parameters.max_deterministic_time = LIMIT if fifo else LIMIT_ANY
    status = solver.solve(model)
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None


def instances(table):
    """The instances to try, with the number wanted of each group."""
    rng = random.Random(SEED)
    if table == "random":
        for line in RANDOM.split("\n"):
            if line:
                p, m, f, i, w, c, a, k, memory = map(int, line.split())
                yield "B", 25, equal(p, m, f, i, w, c, a, k, memory)
    while table == "equal":
        for p, m in [(p, m) for p in (2, 3, 4) for m in range(max(p, 3), 9)]:
            f, i, w = (rng.randint(2, 9) for _ in range(3))
            a = rng.randint(3, 6)
            k, c = rng.randint(1, a), rng.randint(0, 2)
            memory = rng.randint(a, 2 * p * a)
            yield (p, m), 12, equal(p, m, f, i, w, c, a, k, memory)
    while table in ("unequal", "v"):
        v = 2 if table == "v" else 1
        p, m = rng.randint(2, 3 if v == 2 else 4), rng.randint(2, 7 - 2 * (v - 1))
        n = p * v
        costs = {k: [rng.randint(2, 9) for _ in range(n)] for k in "FIW"}
        costs["A"] = [rng.randint(2, 6) for _ in range(n)]
        costs["K"] = [rng.randint(1, a) for a in costs["A"]]
        hops = [rng.randint(0, 3) for _ in range(n - 1)]
        if v == 2 and rng.random() < 0.5:
            costs = {k: x[:1] for k, x in costs.items()}
            hops = hops[:1]
        top = max(costs["A"]) * v
        memory = rng.randint(top, 2 * p * top)
        placement = "v" if v == 2 else "linear"
        wanted = 30 if v == 2 else 60
        yield table, wanted, Instance(placement, p, v, m, memory, costs, hops)


def main():
    table = sys.argv[1]
    print(f"# solve.py {table}: CP-SAT of ortools 9.15.6755, one worker, seed {SEED},")
    print(f"# deterministic limits {LIMIT:g} and {LIMIT_ANY:g}.")
    print("# placement p v m M | F | I | W | A | K | hops |", end="")
    print(" span makespan span_any makespan_any")
    solved = {}
    for group, wanted, instance in instances(table):
        solved.setdefault(group, 0)
        if all(n >= wanted for n in solved.values()):
            break
        if solved[group] >= wanted:
            continue
        values = [solve(instance, "span", True)]
        if values[0] is None and table != "random":
            continue
        values.append(solve(instance, "makespan", True))
        if values[1] is None and table != "random":
            continue
        # The search over all orders is much larger, so only for small instances.
        if instance.p * instance.v * instance.m <= 18:
            values += [solve(instance, o, False) for o in ("span", "makespan")]
        else:
            values += [None, None]
        text = " ".join("-" if x is None else str(x) for x in values)
        print(f"{instance} | {text}", flush=True)
        solved[group] += 1


if __name__ == "__main__":
    main()
