"""Paddings, strides and dilations of windows, shared by convolutions and pooling."""

from __future__ import annotations


class Windows:
    """The windows of a node over an array (batch, channels, *space), from the node's attributes."""

    def __init__(self, node, shape, kernel):
        self.kernel = list(kernel)
        rank = len(self.kernel)
        self.strides = node.get("strides") or [1] * rank
        self.dilations = node.get("dilations") or [1] * rank
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        pads = node.get("pads") or [0] * (2 * rank)
        self.pads = list(zip(pads[:rank], pads[rank:]))
        mode = node.get("auto_pad", "NOTSET")
        if mode.startswith("SAME"):
            self.pads = [self._same(extent, i, mode) for i, extent in enumerate(shape[2:])]
        elif mode == "VALID":
            self.pads = [(0, 0)] * rank
        self.extra = [0] * rank
        if node.get("ceil_mode", 0):
            self.extra = [self._ceiling(extent, i) for i, extent in enumerate(shape[2:])]

    def _same(self, extent, axis, mode):
        """Paddings that give one window per stride; if their sum is odd, the larger is at the end or the beginning, by mode."""
        count = -(-extent // self.strides[axis])
        total = max(0, (count - 1) * self.strides[axis] + self.reach[axis] - extent)
        small, large = total // 2, total - total // 2
        return (small, large) if mode == "SAME_UPPER" else (large, small)

    def _ceiling(self, extent, axis):
        """Extra padding at the end for a last, partial window; a window that would begin in the padding is not added."""
        low, high = self.pads[axis]
        stride = self.strides[axis]
        free = extent + low + high - self.reach[axis]
        count = -(-free // stride) + 1
        if (count - 1) * stride >= extent + low:
            count -= 1
        return max(0, (count - 1) * stride - free)

    def padded(self):
        """Paddings that include the partial windows."""
        return [(low, high + extra) for (low, high), extra in zip(self.pads, self.extra)]

    def whole(self, values, fill):
        """Values for every dimension, with `fill` for batch and channels."""
        return (fill, fill, *values)
