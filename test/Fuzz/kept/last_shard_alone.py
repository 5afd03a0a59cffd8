"""Program 606944-89: values that only the last of two shards computes. 1 stage, split over 2 shards, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, i1, n0):
    with jax.named_scope("h0"):
        j0 = i1[0]
        v1 = jnp.stack([p["w1"], p["w1"], p["w1"] * p["w1"]], 0)
        v2 = -jax.nn.log_sigmoid(v1) * jax.nn.sigmoid(v1)
        v4 = lax.dynamic_update_slice(v2, v2[:3] * -0.33, (n0,))
    with jax.named_scope("h1"):
        v5 = jnp.take(p["w5"], j0, axis=0, mode='clip')
        v6 = v4[:]
        v8 = jnp.log(jnp.cosh(v6 - v4))
        v9 = jnp.take(v8, i1 - 1, axis=0, mode='wrap')
    with jax.named_scope("h2"):
        v11 = v9[j0]
        v12 = v6[2]
        v13 = lax.map(lambda x: jnp.tanh(x @ p["w7"]), p["w6"])
        v14 = lax.fori_loop(1, 3, lambda i, b: b.at[i].add(b[i - 1] * p["w4"]), v13)
    return weigh(v4) + weigh(v5) + weigh(v8) + weigh(v9) + weigh(v11) + weigh(v12) + weigh(v14)


def program():
    p = {
        "w1": jnp.asarray(np.random.default_rng(407009).standard_normal(()), F),
        "w4": jnp.asarray(np.random.default_rng(407030).standard_normal(()), F),
        "w5": jnp.asarray(np.random.default_rng(407037).standard_normal((6, 1)), F),
        "w6": jnp.asarray(np.random.default_rng(407044).standard_normal((3, 5, 5)) * 0.447, F),
        "w7": jnp.asarray(np.random.default_rng(407051).standard_normal((5, 5)) * 0.447, F),
    }
    i1 = jnp.asarray(np.random.default_rng(407112).integers(-1, 6, (5,)), I)
    n0 = jnp.asarray(np.random.default_rng(407110).integers(-1, 5, ()), I)
    return jax.value_and_grad(function), (p, i1, n0)
# crash, compile: signal SIGSEGV
# Stack dump:
# 0.	Program arguments: /work/main/build/bin/pp-compile /tmp/stagewright-fuzz-l48_x20v/again/module.mlir --cluster=local:2 --microbatches=2 --quiet --no-cache -o /tmp/stagewright-fuzz-l48_x20v/again/step.swx --tensor-parallel=2 --shard=params/w5=0
#  #0 0x00007f0a6ccb8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb8786)
#  #1 0x00007f0a6ccb5fd3 llvm::sys::RunSignalHandlers() (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb5fd3)
#  #2 0x00007f0a6ccb94f4 (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb94f4)
#  #3 0x00007f0a6785a050 (/lib/x86_64-linux-gnu/libc.so.6+0x3c050)
#  #4 0x000055af5c43673f stagewright::levelsOf(stagewright::pipeline::GraphOp, stagewright::Problem const&, long) (/work/main/build/bin/pp-compile+0x2bb73f)
#  #5 0x000055af5c42eeab stagewright::planShards[abi:cxx11](stagewright::pipeline::GraphOp, stagewright::CompileOptions const&) (/work/main/build/bin/pp-compile+0x2b3eab)
#  #6 0x000055af5c42b0b0 stagewright::(anonymous namespace)::PlanStep::toProgram(mlir::ModuleOp, stagewright::CompileOptions const&, stagewright::(anonymous namespace)::Needs const&, llvm::function_ref<llvm::LogicalResult (mlir::OpPassManager&)>) const PlanStep.cpp:0:0
#  #7 0x000055af5c429573 stagewright::(anonymous namespace)::PlanStep::runOnOperation() PlanStep.cpp:0:0
#  #8 0x00007f0a76f8f937 mlir::detail::OpToOpPassAdaptor::run(mlir::Pass*, mlir::Operation*, mlir::AnalysisManager, bool, unsigned int) (/usr/lib/llvm-22/lib/libMLIR.so.22.1+0x618f937)
#  #9 0x00007f0a76f8ff67 mlir::detail::OpToOpPassAdaptor::runPipeline(mlir::OpPassManager&, mlir::Operation*, mlir::AnalysisManager, bool, unsigned int, mlir::PassInstrumentor*, mlir::PassInstrumentation::PipelineParentInfo const*) (/usr/lib/llvm-22/lib/libMLIR.so.22.1+0x618ff67)
# crash, compile: signal SIGSEGV
# Stack dump:
# 0.	Program arguments: /work/main/build/bin/pp-compile /tmp/stagewright-fuzz-m39qa4w4/606944-89/module.mlir --cluster=local:2 --microbatches=2 --quiet --no-cache -o /tmp/stagewright-fuzz-m39qa4w4/606944-89/step.swx --tensor-parallel=2 --shard=params/w5=0
#  #0 0x00007fbac94b8786 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb8786)
#  #1 0x00007fbac94b5fd3 llvm::sys::RunSignalHandlers() (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb5fd3)
#  #2 0x00007fbac94b94f4 (/usr/lib/llvm-22/lib/libLLVM.so.22.1+0x4eb94f4)
#  #3 0x00007fbac445a050 (/lib/x86_64-linux-gnu/libc.so.6+0x3c050)
#  #4 0x0000555b4810973f stagewright::levelsOf(stagewright::pipeline::GraphOp, stagewright::Problem const&, long) (/work/main/build/bin/pp-compile+0x2bb73f)
#  #5 0x0000555b48101eab stagewright::planShards[abi:cxx11](stagewright::pipeline::GraphOp, stagewright::CompileOptions const&) (/work/main/build/bin/pp-compile+0x2b3eab)
#  #6 0x0000555b480fe0b0 stagewright::(anonymous namespace)::PlanStep::toProgram(mlir::ModuleOp, stagewright::CompileOptions const&, stagewright::(anonymous namespace)::Needs const&, llvm::function_ref<llvm::LogicalResult (mlir::OpPassManager&)>) const PlanStep.cpp:0:0
#  #7 0x0000555b480fc573 stagewright::(anonymous namespace)::PlanStep::runOnOperation() PlanStep.cpp:0:0
#  #8 0x00007fbad378f937 mlir::detail::OpToOpPassAdaptor::run(mlir::Pass*, mlir::Operation*, mlir::AnalysisManager, bool, unsigned int) (/usr/lib/llvm-22/lib/libMLIR.so.22.1+0x618f937)
#  #9 0x00007fbad378ff67 mlir::detail::OpToOpPassAdaptor::runPipeline(mlir::OpPassManager&, mlir::Operation*, mlir::AnalysisManager, bool, unsigned int, mlir::PassInstrumentor*, mlir::PassInstrumentation::PipelineParentInfo const*) (/usr/lib/llvm-22/lib/libMLIR.so.22.1+0x618ff67)
