"""The command `stagewright`."""

from __future__ import annotations

import argparse
import sys

from stagewright.errors import ImportFailure, ReportFailure, WeightsFailure

IMPORT_HELP = """\
Imports a model as MLIR: a function @step of one microbatch, with a role on every argument and result.

FILE.py:NAME names a function without arguments that returns (function, example_arguments[, options]):

    def train():
        parameters = init(jax.random.key(0))
        tokens, targets = jnp.zeros((4, 128), int), jnp.zeros((4, 128), int)     # one microbatch
        return jax.value_and_grad(loss), (parameters, tokens, targets)

If the step returns (loss, gradients) or ((loss, aux), gradients), roles are inferred: the argument with the same tree
as the gradients is the parameters, arrays are batches (dimension 0), scalars constants, random keys seeds (microbatch m
uses jax.random.fold_in(key, m)). Override them by name (a tree path; params/h/0 includes all below it) or by the
argument's position, on the command line or in the options that NAME returns.

If a model is too large for this machine, arguments may be shapes (jax.ShapeDtypeStruct, as from jax.eval_shape).
MODEL.inputs.safetensors then has only the other arguments.

The option "update" is an optimizer: (function, state, *more), where function(parameters, gradients, state, *more)
returns (parameters, state), as with optax. Each step then also updates the parameters in place. State and `more` follow
the step's arguments; parameters and state are its last results. An argument of the step with the role "state" is the
leaf of that name in the optimizer's state, such as a loss scale that the update changes. Gradients may have wider types
than their parameters; they are summed over the microbatches in the wider type.

A step on Flax's TrainState, (state, batch) -> (state, loss) or (state, metrics), is split automatically into parameters,
loss with gradients, and the optimizer as the update. Steps that update parameters in other ways are refused.

If the example of a parameter has a jax.sharding.NamedSharding, pp-compile --tensor-parallel=N splits it accordingly, along
the only mesh axis that splits parameters, or the axis --shard-axis (option "shard_axis"). If two axes split parameters, or with
--shard-axis=x,y, pp-compile --tensor-parallel=ROWSxCOLUMNS follows both. with_sharding_constraint on computed values splits the
parameters that must be split with them, and so do the layouts (Shardy) in functions from jax.export. The mesh may have any
number of devices, even one.

The option "validation" is a function of the step's arguments that returns only the loss. It is written to
MODEL.validation.mlir; compile this with pp-compile for pp-run --validation.

Layers are found by scopes: write `with jax.named_scope("h3"):` around each. A lax.scan over stacked layers is
unrolled: its iterations are the layers, and each layer owns its slice of the stacked parameters. Other loops are
unrolled too, unless they have many iterations of a small body, or an end that depends on an argument.
`with stagewright.replicate(2):` around layers makes them one stage on two devices, `with stagewright.split(2):` splits them.

With `torch`, NAME returns (module, loss, batch[, options]); the step is loss(module, **batch) and its gradients:

    def train():
        module = GPT2LMHeadModel(config).train()
        optimizer = torch.optim.AdamW(module.parameters(), 3e-4)
        ids = torch.randint(0, 50257, (4, 128))                                  # one microbatch
        return module, lambda m, **b: m(**b).loss, dict(input_ids=ids, labels=ids), {"optimizer": optimizer}

Names are those of the state_dict. Layers are the modules in the model's _no_split_modules, else members of its outermost
ModuleLists, else of its outermost Sequentials; --layers overrides this. Loss and gradients are compared with torch's before
anything is written. docs/pytorch.md lists the options. Needs the extra [torch].

`stagewright import onnx MODEL.onnx` imports an ONNX file: inference of its outputs, or with --loss=NAME (a scalar output)
that loss and the gradients of its parameters, the floating-point initializers. For other losses and optimizers, call
stagewright.onnx.load("MODEL.onnx") in JAX. docs/onnx.md describes the mapping. Needs the extra [onnx].
"""


REPORT_HELP = """\
Plots a run from its metrics file: loss curves, speed, bubble and memory of each rank next to the planned values, and the
timeline of a trace, on one self-contained HTML page.

    pp-run step.swx ... --metrics=run.jsonl --trace=run.trace.json
    stagewright report run.jsonl --trace=run.trace.json -o run.html --tensorboard=events
"""


WEIGHTS_HELP = """\
Converts checkpoints of other programs to parameters of a model, in the file that pp-run --inputs reads. A checkpoint is a
safetensors file, a folder of them, or their index (model.safetensors.index.json). Other arguments in the output are kept.
Only the data of one parameter is in memory at a time.

    stagewright weights llama.mlir Llama-2-7b-hf/ --map=llama.map --ignore='*.rotary_emb.inv_freq'

A map assigns tensors to parameters. {i} stands for the same text on both sides; if it is only on the right, the tensors with
0, 1, 2 and so on for {i} are stacked:

    params/embed         = model.embed_tokens.weight
    params/layers/{i}/q  = T(model.layers.{i}.self_attn.q_proj.weight)
    params/blocks/up     = T(model.layers.{i}.mlp.up_proj.weight)        # stacked over the layers
    params/layers/{i}/kv = concat(T(...), T(...), 1)                     # and transpose(x, 2, 0, 1), reshape(x, 8, -1),
    ignore *.inv_freq                                                    # slice(x, axis, first, last), stack(x, y)

A parameter without a line is the tensor of the same name, with `.` for `/` and without the first part.
"""


def _pairs(values, option):
    table = {}
    for value in values or []:
        key, equals, rest = value.rpartition("=")
        if not equals or not key or not rest:
            raise ImportFailure(f"'{value}' is not of the form NAME={option}")
        table[int(key) if key.isdigit() else key] = rest
    return table


def _parser():
    parser = argparse.ArgumentParser(prog="stagewright", description="Stagewright's Python tools.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("import", help="import a model as MLIR", description=IMPORT_HELP,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("framework", choices=["jax", "torch", "onnx"], help="the model's framework")
    command.add_argument("model", metavar="FILE.py:NAME|MODEL.onnx",
                         help="function that returns the step and its arguments, or an ONNX file")
    command.add_argument("-o", "--output", required=True, metavar="MODEL.mlir",
                         help="output module; the arguments go to MODEL.inputs.safetensors beside it")
    command.add_argument("--role", action="append", metavar="NAME=ROLE",
                         help="role of an argument (parameter, batch, constant, seed, state) or a result (loss, output)")
    command.add_argument("--combine", action="append", metavar="NAME=RULE",
                         help="how to combine a result over microbatches: mean, sum, concat or last")
    command.add_argument("--batch-dim", action="append", metavar="NAME=DIM", help="batch dimension of an argument or result")
    command.add_argument("--layers", action="append", metavar="MODULE",
                         help="torch: modules that are layers, by class name or path, with wildcards")
    command.add_argument("--no-slices", action="store_true", help="do not slice parameters stacked over layers")
    command.add_argument("--shard-axis", metavar="AXIS[,AXIS]", help="jax: mesh axis for --tensor-parallel, or two for a grid")
    command.add_argument("--unroll-limit", type=int, metavar="N", help="max iterations of a loop to unroll")
    command.add_argument("--quiet", action="store_true", help="print no summary")
    only = command.add_argument_group("only for onnx")
    only.add_argument("--loss", metavar="NAME", help="output that is the loss (default: none, inference)")
    only.add_argument("--dim", action="append", metavar="NAME=SIZE", help="size of a dynamic dimension, such as batch=4")
    only.add_argument("--freeze", action="append", metavar="PATTERN",
                      help="initializers not to train, with wildcards, such as 'embeddings.*'")
    only.add_argument("--inputs", metavar="FILE", help="example inputs by name: an .npz or safetensors file")
    command = commands.add_parser("weights", help="convert checkpoints to parameters", description=WEIGHTS_HELP,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("model", metavar="MODEL.mlir", help="module written by `stagewright import`")
    command.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="safetensors file, folder or index")
    command.add_argument("--map", metavar="FILE", help="file that assigns tensors to parameters")
    command.add_argument("--ignore", action="append", default=[], metavar="PATTERN",
                         help="checkpoint tensors that the model does not need, with wildcards")
    command.add_argument("-o", "--output", metavar="FILE", help="output file (default: MODEL.inputs.safetensors)")
    command.add_argument("--quiet", action="store_true", help="print no progress and no summary")
    command = commands.add_parser("report", help="plot a run: HTML page, TensorBoard events",
                                  description=REPORT_HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("metrics", metavar="RUN.jsonl", help="file written by pp-run --metrics")
    command.add_argument("--trace", metavar="TRACE.json", help="file written by pp-run --trace")
    command.add_argument("-o", "--output", metavar="RUN.html", help="HTML page to write")
    command.add_argument("--tensorboard", metavar="FOLDER", help="folder for events, for tensorboard --logdir FOLDER")
    command.add_argument("--title", help="page title (default: the artifact's name)")
    command = commands.add_parser("source", help="compute batches; pp-run --source starts this")
    command.add_argument("function", metavar="FILE.py:NAME", help="function of seed, step and microbatch; returns arrays by name")
    command.add_argument("seed", type=int, metavar="SEED", help="first argument of the function")
    return parser


def _import(arguments):
    given = {"roles": _pairs(arguments.role, "ROLE"), "combine": _pairs(arguments.combine, "RULE"),
             "batch_dim": _pairs(arguments.batch_dim, "DIM")}
    frameworks = {"jax": _import_jax, "torch": _import_torch, "onnx": _import_onnx}
    foreign = [name for name in ("loss", "dim", "freeze", "inputs") if getattr(arguments, name)]
    if arguments.shard_axis and arguments.framework != "jax":
        raise ImportFailure("--shard-axis is for jax, whose arrays have shardings; use pp-compile --shard")
    if foreign and arguments.framework != "onnx":
        raise ImportFailure(f"--{foreign[0]} is for onnx; a step of {arguments.framework} specifies this in its file")
    signature, extras = frameworks[arguments.framework](arguments, given)
    if arguments.quiet:
        return
    for remark in signature.remarks:
        print(f"remark: {remark}")
    roles = [a.role or "argument" for a in signature.arguments] + [r.role or "result" for r in signature.results]
    counts = ", ".join(f"{roles.count(role)} {role}{'s' * (roles.count(role) != 1)}".replace("batchs", "batches")
                       for role in dict.fromkeys(roles))
    print(f"{arguments.output}: {counts}{extras}")


def _import_jax(arguments, given):
    from stagewright.frontend.jax_step import import_jax, load_model

    if arguments.layers:
        raise ImportFailure("--layers is for torch; in JAX write `with jax.named_scope(...)` around each layer")
    function, examples, options = load_model(arguments.model)
    _merge(options, given, arguments)
    if arguments.no_slices:
        options["pipeline_slices"] = False
    if arguments.shard_axis:
        options["shard_axis"] = arguments.shard_axis
    return import_jax(function, examples, arguments.output, **options), _extras(options, arguments.output)


def _import_torch(arguments, given):
    try:
        import torch  # noqa: F401
        import torchax  # noqa: F401
    except ImportError as error:
        raise ImportFailure(f"PyTorch's models need torch and torchax ({error}): pip install 'stagewright[torch]'") from error
    from stagewright.torch import import_step
    from stagewright.torch.step import load_step

    if arguments.no_slices:
        raise ImportFailure("--no-slices is for jax; parameters of torch are not stacked over layers")
    module, loss, batch, options = load_step(arguments.model)
    _merge(options, given, arguments)
    if arguments.layers:
        options["layers"] = arguments.layers
    signature = import_step(module, loss, batch, arguments.output, **options)
    extras = f"; an update by {type(options['optimizer']).__name__}" if options.get("optimizer") is not None else ""
    return signature, extras + _validation(options, arguments.output)


def _import_onnx(arguments, given):
    from stagewright.onnx import import_step

    if arguments.layers:
        raise ImportFailure("--layers is for torch; an ONNX file's nodes and initializers name its layers")
    sizes = _pairs(arguments.dim, "SIZE")
    if wrong := [name for name, size in sizes.items() if not size.isdigit() or not int(size)]:
        raise ImportFailure(f"--dim {wrong[0]}={sizes[wrong[0]]}: a size is a positive integer")
    options = dict(loss=arguments.loss, frozen=arguments.freeze or (), inputs=_arrays(arguments.inputs),
                   dims={name: int(size) for name, size in sizes.items()})
    _merge(options, given, arguments)
    if arguments.no_slices:
        options["pipeline_slices"] = False
    return import_step(arguments.model, arguments.output, **options), ""


def _arrays(path):
    """Arrays by name, from a numpy or safetensors file."""
    if path is None:
        return {}
    try:
        if path.endswith(".npz"):
            import numpy as np
            with np.load(path) as file:
                return dict(file)
        from safetensors.numpy import load_file
        return load_file(path)
    except Exception as error:
        raise ImportFailure(f"cannot read '{path}': {error}; it must be a file of numpy (.npz) or safetensors") from error


def _merge(options, given, arguments):
    """Command-line options override those that NAME returns."""
    for key, values in given.items():
        if values:
            options[key] = {**options.get(key, {}), **values}
    if arguments.unroll_limit is not None:
        options["unroll_limit"] = arguments.unroll_limit


def _extras(options, output):
    """A summary of what the import wrote besides the step."""
    import jax

    if options.get("update") is None:
        text = ""
    else:
        count = len(jax.tree.leaves(options["update"][1]))
        text = f"; an update with {count} value{'s' * (count != 1)} of state"
    return text + _validation(options, output)


def _validation(options, output):
    return f"; the loss alone in {output.removesuffix('.mlir')}.validation.mlir" if options.get("validation") else ""


def _weights(arguments):
    from stagewright.weights import convert, default_output

    shown = sys.stderr.isatty() and not arguments.quiet

    def tell(name, done, total):
        if shown:
            print(f"\r\033[K{done / 1e9:.1f} of {total / 1e9:.1f} GB: {name}", end="", file=sys.stderr, flush=True)
    output = arguments.output or default_output(arguments.model)
    count, size, casts = convert(arguments.model, arguments.checkpoints, output, map=arguments.map, ignore=arguments.ignore,
                                 tell=tell)
    if shown:
        print("\r\033[K", end="", file=sys.stderr)
    if not arguments.quiet:
        for (source, target), number in casts.items():
            print(f"remark: {number} of them converted from {source} to {target}")
        print(f"{output}: {count} parameters, {size / 1e9:.2f} GB")


def _report(arguments):
    from stagewright.report.metrics import read_metrics

    if not arguments.output and not arguments.tensorboard:
        raise ReportFailure("no output is requested; give -o RUN.html, --tensorboard FOLDER, or both")
    metrics = read_metrics(arguments.metrics)
    if arguments.output:
        from stagewright.report.page import make_page
        page = make_page(metrics, arguments.trace, arguments.title)
        try:
            with open(arguments.output, "w", encoding="utf-8") as file:
                file.write(page)
        except OSError as error:
            raise ReportFailure(f"cannot write '{arguments.output}': {error.strerror}") from error
        print(f"{arguments.output}: {len(metrics.lines)} steps")
    if arguments.tensorboard:
        from stagewright.report.events import write_events
        print(f"{arguments.tensorboard}: {write_events(metrics, arguments.tensorboard)} scalars")


def _source(arguments):
    from stagewright.source import serve

    sys.exit(serve(arguments.function, arguments.seed))


def main(argv=None):
    arguments = _parser().parse_args(argv)
    try:
        {"import": _import, "weights": _weights, "report": _report, "source": _source}[arguments.command](arguments)
    except (ImportFailure, ReportFailure, WeightsFailure) as error:
        sys.exit(f"error: {error}")
