"""The bytes that the planner counts for a stage are at least those of its arena, and not more where they can be known."""

import json

import pytest

from workshop import tool

SIDE = 256
TYPE, SIZE = f"tensor<{SIDE}x{SIDE}xf32>", 4 * SIDE * SIDE
ARGUMENTS = f'''%w: {TYPE} {{pipeline.role = "parameter", pipeline.name = "w"}}, %x: {TYPE} {{pipeline.role = "batch", pipeline.name = "x"}}'''
MAKES = f"""
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {TYPE}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {TYPE}) -> {TYPE}"""


def product(result, left, right, layer=None):
    where = "" if layer is None else f' loc("jit(step)/h{layer}/dot")'
    return f"  %{result} = linalg.matmul ins(%{left}, %{right} : {TYPE}, {TYPE}) outs(%zeros : {TYPE}) -> {TYPE}{where}"


def skipping(layers):
    """Layer 0's result is read by layer 1 and by the last layer."""
    body = [product("v0", "x", "w", 0), *(product(f"v{i}", f"v{i - 1}", "w", i) for i in range(1, layers - 1)),
            product("y", f"v{layers - 2}", "v0", layers - 1)]
    text = "\n".join(body)
    return f"""func.func @step({ARGUMENTS}) -> ({TYPE} {{pipeline.role = "output"}}) {{{MAKES}
{text}
  return %y : {TYPE}
}}"""


def twice():
    """Layer 2 has two nodes in its forward, which both read what layers 0 and 1 pass on."""
    cost = "cost <flops = 33554432, read = 0, written = 0>"
    node = f'{cost} : ({TYPE}, {TYPE}) -> {TYPE}'
    return f"""pipeline.graph @step({ARGUMENTS}) -> ({TYPE} {{pipeline.role = "output", pipeline.combine = "concat"}}) attributes {{layers = ["a", "b", "c", "d"]}} {{
  %a = pipeline.node "a.F" @dot phase F layer 0(%x, %w) {node}
  %b = pipeline.node "b.F" @dot phase F layer 1(%a, %w) {node}
  %c = pipeline.node "c.F" @dot phase F layer 2(%a, %b) {node}
  %more = pipeline.node "c.F.1" @sum phase F layer 2(%a, %c, %b) {cost} : ({TYPE}, {TYPE}, {TYPE}) -> {TYPE}
  %y = pipeline.node "d.F" @dot phase F layer 3(%more, %w) {node}
  pipeline.yield %y results [0] : {TYPE}
}}
func.func private @dot(%l: {TYPE}, %r: {TYPE}) -> {TYPE} {{{MAKES}
{product("v", "l", "r")}
  return %v : {TYPE}
}}
func.func private @sum(%l: {TYPE}, %m: {TYPE}, %r: {TYPE}) -> {TYPE} {{
  %empty = tensor.empty() : {TYPE}
  %v = linalg.generic {{indexing_maps = [{", ".join(4 * ["affine_map<(i, j) -> (i, j)>"])}], iterator_types = ["parallel", "parallel"]}}
      ins(%l, %m, %r : {TYPE}, {TYPE}, {TYPE}) outs(%empty : {TYPE}) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %d = arith.addf %a, %b : f32
    %e = arith.addf %d, %c : f32
    linalg.yield %e : f32
  }} -> {TYPE}
  return %v : {TYPE}
}}"""


def memory(tmp_path, text):
    """Bytes that pp-plan counts for the only stage, and those of its arena, if workspaces are measured because memory is short."""
    source, program, artifact = (tmp_path / f"step.{ending}" for ending in ("mlir", "program.mlir", "swx"))
    source.write_text(text)
    asked = "--cluster=local:1", "--stages=1", "--microbatches=2"

    def arena(*flags):
        tool("pp-compile", source, *asked, *flags, "--quiet", "-o", artifact)
        return json.loads(tool("pp-run", artifact, "--info=json"))["ranks"][0]["memory"]["arena"]
    short = f"--memory={int(1.02 * arena())}B"
    tool("pp-compile", source, *asked, short, "--emit=program", "--quiet", "-o", program)
    assert "workspace = " in program.read_text()
    (stage,) = json.loads(tool("pp-plan", program, *asked, short, "--json"))["stages"]
    return stage["memory_bytes"], arena(short)


@pytest.mark.parametrize("layers", (3, 4, 6))
def test_values_that_skip_layers_wait_in_memory(tmp_path, layers):
    """One parameter, two batches and two results, and the values of a forward: while a layer in the middle runs, its input and output,
    and the skipping value."""
    counted, taken = memory(tmp_path, skipping(layers))
    assert counted == taken == (5 + min(layers - 1, 3)) * SIZE


def test_values_that_two_nodes_of_a_layer_read_count_once(tmp_path):
    """While the second node of layer 2 runs, there are its three inputs and its result."""
    counted, taken = memory(tmp_path, twice())
    assert counted == taken == (5 + 4) * SIZE
