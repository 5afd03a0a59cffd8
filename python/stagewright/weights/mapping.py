"""Maps: which tensors of a checkpoint become which parameters of a model.

    # LLaMA of HuggingFace
    params/embed            = model.embed_tokens.weight
    params/layers/{i}/q     = T(model.layers.{i}.self_attn.q_proj.weight)
    params/layers/{i}/up    = T(concat(model.layers.{i}.mlp.gate_proj.weight, model.layers.{i}.mlp.up_proj.weight, 0))
    params/stacked/norm     = model.layers.{i}.input_layernorm.weight
    ignore *.rotary_emb.inv_freq

{i} on the left matches any part of a name without `/` and `.`, and has the same value on the right. If it is only on the right,
it counts from 0 as long as the checkpoint has such tensors, which are stacked. A parameter that no line names is the tensor of
its own name, with `.` for `/` and without its first part: params/h/0/fc is h.0.fc.
"""

from __future__ import annotations

import fnmatch
import re

from stagewright.errors import WeightsFailure
from stagewright.weights.expressions import Stack, Tensor, parse

PLACE = re.compile(r"\{(\w+)\}")


class Map:
    """The lines of a map; without lines, every parameter has its own name."""

    def __init__(self, text="", path="map"):
        self.lines, self.ignored = [], []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            where = f"{path}:{number}"
            if line.split()[0] == "ignore":
                self.ignored += line.split()[1:]
                continue
            left, equals, right = (part.strip() for part in line.partition("="))
            if not equals or not left or not right or re.search(r"\s", left):
                raise WeightsFailure(f"{where}: '{line}' is neither NAME = TENSOR nor ignore PATTERN")
            free = set(PLACE.findall(right)) - set(PLACE.findall(left))
            if len(free) > 1:
                raise WeightsFailure(f"{where}: {' and '.join('{' + f + '}' for f in sorted(free))} are only on the right, but "
                                     "tensors can be stacked over only one")
            pattern = "".join(f"(?P<{PLACE.fullmatch(part)[1]}>[^/.]+)" if PLACE.fullmatch(part) else re.escape(part)
                              for part in re.split(r"(\{\w+\})", left))
            try:
                parse(PLACE.sub("0", right))
                pattern = re.compile(pattern)
            except (WeightsFailure, re.error) as error:
                raise WeightsFailure(f"{where}: {error}") from error
            self.lines.append((where, pattern, right, free.pop() if free else None))

    def expression(self, name, checkpoint):
        """The expression of parameter `name`, and the location of its line, if there is one."""
        found = [(line, match) for line in self.lines if (match := line[1].fullmatch(name))]
        if len(found) > 1:
            raise WeightsFailure(f"{' and '.join(line[0] for line, _ in found)} name {name}; only one line may")
        if not found:
            return Tensor(next((n for n in own_names(name) if n in checkpoint.tensors), own_names(name)[0])), None
        (where, _, right, counted), match = found[0]
        right = PLACE.sub(lambda place: match.groupdict().get(place[1], place[0]), right)
        if not counted:
            return parse(right), where
        parts = []
        while not parts or all(n in checkpoint.tensors for n in parts[-1].names()):
            parts.append(parse(right.replace(f"{{{counted}}}", str(len(parts)))))
        return Stack(*parts[:-1] or parts), where

    def ignores(self, name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.ignored)


def own_names(name):
    """Possible tensor names of parameter `name` without a map, the most likely first."""
    rest = name.split("/", 1)[-1]
    return list(dict.fromkeys([rest.replace("/", "."), rest, name.replace("/", "."), name]))
