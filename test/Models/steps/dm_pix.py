"""Image functions of dm-pix, chex and the like inside a small convolution net."""

import chex
import dm_pix as pix
import jax
import jax.numpy as jnp
from jax import lax

from building import Draw
from catalog import add


def net(function):
    """A maker: `function(image, target)` is a loss of the pictures that a convolution net makes."""
    def make(dtype):
        n = Draw(dtype)

        def loss(p, x, target):
            chex.assert_rank([x, target], 4)
            y = x
            for kernel in p:
                y = jnp.tanh(lax.conv_general_dilated(y, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
            return jnp.mean(function(0.5 + 0.4 * y, target))
        return jax.value_and_grad(loss), ([n(3, 3, 3, 8), n(3, 3, 8, 3)], n(2, 16, 16, 3, scale=1.0), n.uniform(2, 16, 16, 3))
    return make


FUNCTIONS = {
    "mae-mse": lambda y, t: pix.mae(y, t) + pix.mse(y, t),
    "psnr": lambda y, t: -pix.psnr(y, t) / 30,
    "ssim": lambda y, t: 1 - pix.ssim(y, t, filter_size=5),
    "brightness-contrast": lambda y, t: (pix.adjust_brightness(pix.adjust_contrast(y, 1.2), 0.1) - t) ** 2,
    "saturation-hue": lambda y, t: (pix.adjust_hue(pix.adjust_saturation(y, 0.8), 0.1) - t) ** 2,
    "gamma": lambda y, t: (pix.adjust_gamma(y, 0.8) - t) ** 2,
    "grayscale-hsv": lambda y, t: (pix.rgb_to_grayscale(y) - pix.rgb_to_grayscale(t)) ** 2 + (pix.rgb_to_hsv(y)[..., 2:] - 0.5) ** 2,
    "blur": lambda y, t: (pix.gaussian_blur(y, 1.0, 5) - t) ** 2,
    "flips": lambda y, t: (pix.flip_left_right(y) + pix.flip_up_down(y) + pix.rot90(y) - t) ** 2,
    "depth-to-space": lambda y, t: (pix.space_to_depth(y, 2) - pix.space_to_depth(t, 2)) ** 2,
    "solarize": lambda y, t: (pix.solarize(y, 0.5) - t) ** 2,
    "total-variation": lambda y, t: (jnp.abs(jnp.diff(y, axis=1)).mean() + jnp.abs(jnp.diff(y, axis=2)).mean()
                                     + ((y - t) ** 2).mean()),
    "crop-resize": lambda y, t: (pix.resize_with_crop_or_pad(y, 12, 20) - pix.resize_with_crop_or_pad(t, 12, 20)) ** 2,
}
for name, function in FUNCTIONS.items():
    # The kernel of `blur` is float32, and a convolution takes operands of one type.
    add(f"dm-pix/{name}", net(function), **(dict(dtypes=("float32",)) if name == "blur" else {}))
