"""Annotations of a model in JAX: how layers are placed, written around the code that computes them.

    with stagewright.replicate(2):      # one stage on two devices, which share the samples
        x = features(params, x)
    with stagewright.split(2):          # layers whose parameters are split over two devices
        logits = classifier(params, x)

An annotation is a JAX scope with a reserved name, `stagewright:replicate:2:NUMBER:FILE%3ALINE`. So it is part of the location of
each operation after differentiation, rematerialisation, scans and vmap; the compiler reads it there (Analysis/Annotations.h). The
primitives are those of Whale (Jia et al., ATC 2022). docs/annotations.md describes what they do.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import re
import sys
from urllib.parse import quote

from stagewright.errors import ImportFailure

PREFIX = "stagewright:"
_NUMBERED = re.compile(rf"({PREFIX}(?:replicate|split):\d+:)(\d+):")

_numbers = itertools.count()
_open = contextvars.ContextVar("stagewright_annotation", default=None)


class Annotation(contextlib.AbstractContextManager):
    """What `replicate` and `split` return. It may be entered several times, but not inside of another one."""

    def __init__(self, kind, count, frame):
        self.place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ImportFailure(f"{kind} at {self.place} takes the number of devices, an integer of at least 1, got {count!r}")
        self.text = f"{kind}({count})"
        self.scope = f"{PREFIX}{kind}:{count}:{next(_numbers)}:{quote(self.place, safe='')}"

    def __enter__(self):
        import jax

        outer = _open.get()
        if outer is not None:
            raise ImportFailure(f"{self.text} at {self.place} is inside of {outer.text} at {outer.place}; annotations cannot be "
                                "nested, end one before the other begins")
        self._token = _open.set(self)
        self._named = jax.named_scope(self.scope)
        self._named.__enter__()
        return self

    def __exit__(self, *error):
        self._named.__exit__(*error)
        _open.reset(self._token)


def replicate(count):
    """Layers computed in this context are one stage on `count` devices, which share each microbatch or take turns."""
    return Annotation("replicate", count, sys._getframe(1))


def split(count):
    """Parameters that are used in this context are split over `count` devices, which compute the layers together."""
    return Annotation("split", count, sys._getframe(1))


def is_annotation(name):
    """Whether the scope `name` is an annotation, not a scope of the model."""
    return name.startswith(PREFIX)


def renumbered(text):
    """`text` with the annotations in it numbered from 0 in the order of their appearance, so that imports are reproducible."""
    numbers = {}
    return _NUMBERED.sub(lambda m: f"{m[1]}{numbers.setdefault(m[0], len(numbers))}:", text)
