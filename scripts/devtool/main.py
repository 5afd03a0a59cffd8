"""The commands of ./dev and their options."""

import argparse
import pathlib
import shutil
import time

from . import bench, demo, docs, setup, style, tests, wheel
from .console import ROOT, START, Failure, _clock, say


def _parser(text):
    parser = argparse.ArgumentParser(prog="./dev", description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, handler, text):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(handler=handler)
        return sub

    command("demo", demo.run, "import a GPT step from JAX, compile it for 4 stages, run it, compare with JAX")
    sub = command("test", tests.run, "run the tests of the given kinds; the last line counts them")
    sub.add_argument("kinds", nargs="*", metavar="KIND",
                     help="unit, lit, python, consumer, wheel, fuzz, models, torch, onnx, thorough (default: the first six)")
    sub.add_argument("--preset", default="release", choices=setup.PRESETS,
                     help="the build to test (default: release)")
    sub.add_argument("--filter", help="only tests whose name has this part; without kinds, only unit, lit and python run")
    sub.add_argument("--programs", type=int, default=100, metavar="N", help="fuzz: number of programs (default: 100)")
    sub.add_argument("--seed", type=int,
                     help="fuzz: seed of all programs (default: 1 for half of them, a random one for the rest)")
    sub = command("build", lambda o: setup.everything(o.preset, o.targets or ["all"]), "build; the tools lie in build/bin")
    sub.add_argument("targets", nargs="*", metavar="TARGET", help="what to build (default: all)")
    sub.add_argument("--preset", default="release", choices=setup.PRESETS)
    sub = command("bench", bench.run, "measure Stagewright and its peers, and print the ratios")
    bench.options(sub)
    sub = command("format", style.run, "format the C++ files that git tracks")
    sub.add_argument("--check", action="store_true", help="change nothing, fail where something would change")
    sub.add_argument("--tidy", nargs="*", metavar="FILE", help="run clang-tidy over FILEs (default: all of lib/ and tools/)")
    command("docs", docs.run, "write the reference pages of dialects and passes into build/docs")
    sub = command("install", install, "build and install under a prefix")
    sub.add_argument("--prefix", default=str(ROOT / "install"), help="where to (default: install/ in the tree)")
    sub = command("wheel", wheel.run, "build a wheel of the Python package with the compiled tools in it")
    sub.add_argument("--out", type=pathlib.Path, default=ROOT / "build/wheels", metavar="FOLDER",
                     help="where to (default: build/wheels)")
    command("setup", lambda o: (setup.packages(), setup.venv(), setup.configure("release")), "only the set-up")
    return parser


def install(options):
    setup.everything()
    setup.stream("Installing", ["cmake", "--install", setup.tree("release"), "--prefix", options.prefix],
                 lambda line: None)
    say(f"Installed under {options.prefix}; use it with find_package(Stagewright)")


def run(arguments, text):
    options = _parser(text).parse_args(arguments or ["--help"])
    if not shutil.which("git"):
        say("error: git is not installed")
        return 1
    try:
        result = options.handler(options)
    except Failure as failure:
        say(f"error: {failure}")
        return 1
    except FileNotFoundError as missing:
        say(f"error: '{missing.filename}' does not exist")
        return 1
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    if options.command != "test" and not getattr(options, "json", False):
        say(f"./dev {options.command}: {_clock(time.monotonic() - START)} in all")
    return result if isinstance(result, int) else 0
