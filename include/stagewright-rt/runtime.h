//===- runtime.h - the C ABI of the Stagewright runtime -----------*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file declares two interfaces. The other public headers are training.h,
// source.h (libraries that provide batches) and device.h (descriptors, included
// here).
//
//  1. `sw_api`: what a compiled rank program calls. The artifact exports a
//     pointer variable `stagewright_api`; the runtime sets it once, after
//     dlopen, and generated code jumps through it. So an artifact has no
//     undefined symbol of ours and needs no library of ours at link time.
//  2. `sw_load` ... : what a host (pp-run, Python, a C++ application) calls.
//
// It is not a tensor library and does not know MLIR: every shape and byte count
// comes from the manifest inside the artifact. No exception crosses the C
// interface; a host function returns a negative number or a null pointer and
// leaves the reason in `sw_error()`.
//
// The table of functions follows PJRT's C API (one struct of pointers that only
// grows at its end); ring buffers with claim/send/recv/release are bounded
// single-producer, single-consumer queues (Lamport).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RT_RUNTIME_H
#define STAGEWRIGHT_RT_RUNTIME_H

// NOLINTBEGIN(readability-identifier-naming): C names, with a prefix.

#include "stagewright-rt/device.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SW_EXPORT __attribute__((visibility("default")))
#else
#define SW_EXPORT
#endif

/// Version of this ABI and of the artifact's section `.stagewright`. Loading an
/// artifact of another version is an error.
#define SW_ABI_VERSION 7u

/// Element types, in the order of the names in the manifest:
/// f32 f64 f16 bf16 i8 i16 i32 i64 u8 u32 u64 bool u16 f8e4m3fn f8e5m2.
typedef enum sw_dtype {
  SW_F32 = 0,
  SW_F64 = 1,
  SW_F16 = 2,
  SW_BF16 = 3,
  SW_I8 = 4,
  SW_I16 = 5,
  SW_I32 = 6,
  SW_I64 = 7,
  SW_U8 = 8,
  SW_U32 = 9,
  SW_U64 = 10,
  SW_BOOL = 11,
  SW_U16 = 12,
  SW_F8E4M3FN = 13,
  SW_F8E5M2 = 14
} sw_dtype;

/// Kinds of action, as `action_begin` receives them: the letters of a
/// schedule's text form.
typedef enum sw_action {
  SW_FORWARD = 'F',
  SW_BACKWARD = 'B',
  SW_INPUT_GRADIENT = 'I',
  SW_WEIGHT_GRADIENT = 'W',
  SW_RECOMPUTE = 'R', ///< the forward again, before the backward
  SW_UPDATE = 'U'
} sw_action;

//===----------------------------------------------------------------------===//
// 1. What generated code calls
//===----------------------------------------------------------------------===//

/// One rank of a running step; opaque, handed to the rank's entry function.
typedef struct sw_rank sw_rank;

/// The entry of one rank: runs one step of `microbatches` microbatches.
typedef void (*sw_entry)(sw_rank *rank, int64_t microbatches);

/// A contraction C[i,j] (+)= sum_k A[i,k] * B[k,j], repeated over up to two
/// batch dimensions. All strides count elements, not bytes. Each operand has a
/// row and a column stride, so a transposed operand needs no copy. Fast if each
/// matrix has one stride equal to 1 (or an extent of 1); else correct, but
/// slow. Batches of C must not overlap.
typedef struct sw_gemm_desc {
  int32_t dtype;        ///< SW_F32 or SW_F64
  int32_t beta;         ///< 0: overwrite C; 1: add to C
  int64_t m, n, k;      ///< extents of C (m x n) and of the sum (k)
  int64_t batch[2];     ///< outer, inner batch extent; 1 where absent
  int64_t a_row, a_col; ///< distance of A[i+1,k], A[i,k+1] from A[i,k]
  int64_t b_row, b_col; ///< distance of B[k+1,j], B[k,j+1] from B[k,j]
  int64_t c_row, c_col; ///< distance of C[i+1,j], C[i,j+1] from C[i,j]
  int64_t a_batch[2];   ///< distance of the next outer, inner batch of A
  int64_t b_batch[2];   ///< the same for B (0: B is shared)
  int64_t c_batch[2];   ///< the same for C
} sw_gemm_desc;

/// A sum of products. The address in every operand is linear in up to three row
/// loops, one column loop and three sum loops, outermost first; absent loops
/// have extent 1. In a convolution a row loop and a sum loop index the same
/// dimension of A; A is the padded image, and B the weights or, for their
/// gradient, the result's gradient. A caller may compute any subset of the
/// rows. Strides count elements. Rows of C must not overlap.
typedef struct sw_convolution_desc {
  int32_t dtype;        ///< SW_F32 or SW_F64
  int32_t beta;         ///< 0: overwrite C; 1: add to C
  int64_t rows[3];      ///< extents of the loops over A and C
  int64_t columns;      ///< extent of the loop over B and C
  int64_t sum[3];       ///< extents of the loops over A and B
  int64_t a_row[3];     ///< distance to the next row in A
  int64_t c_row[3];     ///< and in C
  int64_t a_sum[3];     ///< distance to the next term in A
  int64_t b_sum[3];     ///< and in B
  int64_t b_col, c_col; ///< distance to the next column in B and C
} sw_convolution_desc;

/// What a contraction on a device does with a sum before it stores it. GELU is
/// the tanh approximation; with `beta` 1 the sum includes C.
typedef enum sw_epilogue {
  SW_EPILOGUE_NONE = 0,
  SW_EPILOGUE_BIAS = 1,          ///< adds bias[j]
  SW_EPILOGUE_GELU = 2,          ///< gelu of the sum
  SW_EPILOGUE_BIAS_GELU = 3,     ///< gelu of the sum and bias[j]
  SW_EPILOGUE_GELU_AUX = 4,      ///< GELU, its argument stored in aux
  SW_EPILOGUE_BIAS_GELU_AUX = 5, ///< BIAS_GELU, its argument stored in aux
  SW_EPILOGUE_DGELU = 6,         ///< times the derivative of gelu at aux
  SW_EPILOGUE_DGELU_BIAS = 7,    ///< DGELU; stores its sums over i in bias[j]
  SW_EPILOGUE_A_SUM = 8,         ///< stores sum_k A[i,k] in bias[i]
  SW_EPILOGUE_B_SUM = 9,         ///< stores sum_k B[k,j] in bias[j]
  SW_EPILOGUE_ADD = 10           ///< adds aux
} sw_epilogue;

/// A contraction on a device. Each matrix must have a stride of 1 (or an extent
/// of 1). With an epilogue there is one batch, and the column stride of C and
/// of aux must be 1 (for A_SUM and B_SUM either stride of C); `aux_row` is the
/// row stride of aux. If A or B has 8-bit elements, k must be contiguous in
/// both, every extent, stride and address a multiple of 16, and one of the two
/// f8e4m3fn.
typedef struct sw_contraction_desc {
  sw_gemm_desc gemm;  ///< extents and strides; its dtype is that of C
  int32_t a_dtype;    ///< sw_dtype of A
  int32_t b_dtype;    ///< and of B
  int32_t bias_dtype; ///< of bias, if there is one
  int32_t aux_dtype;  ///< of aux, if there is one
  int32_t tf32;       ///< 1: float32 may be rounded to TF32 before products
  int32_t epilogue;   ///< sw_epilogue
  int32_t otherwise;  ///< 1: a fallback by sw_api.otherwise follows
  int32_t reserved;   ///< 0
  int64_t aux_row;    ///< distance to the next row in aux
} sw_contraction_desc;

/// The functions of the runtime, in an order that is part of the ABI. Buffer,
/// channel, node and collective numbers are those of the manifest; `m` is the
/// number of a microbatch or, in channels, of a message. Every pointer returned
/// is aligned to 64 bytes. After a failure of its own no function returns, and
/// after one elsewhere in the step most do not either (those that wait,
/// `action_begin`, `acquire`, `send` and others): they leave the rank's
/// entry by longjmp, so frames of generated code must not own resources.
///
/// In an artifact for a device every address is a device address, and every
/// call only appends to the rank's program, in order: no work has run when the
/// entry returns. So the entry never reads device memory, and the runtime calls
/// it when a step is created, not when it runs.
typedef struct sw_api {
  /// Address of the slot for `m` in a buffer; that of a stash must be held.
  void *(*slot)(sw_rank *rank, int64_t buffer, int64_t m);
  /// Address of a stash slot, whose lifetime begins here; recorded if checking.
  void *(*acquire)(sw_rank *rank, int64_t buffer, int64_t m);
  /// Ends that lifetime.
  void (*release)(sw_rank *rank, int64_t buffer, int64_t m);
  /// Sender: waits until the receiver's slot for `m` is free; returns its
  /// address.
  void *(*claim)(sw_rank *rank, int64_t channel, int64_t m);
  /// Sender: publishes the data written to the claimed slot. Never blocks.
  void (*send)(sw_rank *rank, int64_t channel, int64_t m);
  /// Receiver: waits for message `m` of the channel and holds its slot.
  /// Later calls before the release (the backward reads what its forward
  /// received) return the same address without waiting.
  void *(*recv)(sw_rank *rank, int64_t channel, int64_t m);
  /// Receiver: returns the slot to the sender.
  void (*release_channel)(sw_rank *rank, int64_t channel, int64_t m);
  /// Begin and end of one action of the schedule, for the trace.
  void (*action_begin)(sw_rank *rank, int32_t kind, int64_t stage, int64_t m);
  void (*action_end)(sw_rank *rank);
  /// Begin and end of one node, for the profile and the count of workspace:
  /// `workspace_bytes` is how much of the workspace the node used.
  void (*node_begin)(sw_rank *rank, int64_t node);
  void (*node_end)(sw_rank *rank, int64_t node, int64_t workspace_bytes);
  /// One contraction, on the threads of the rank; in a body of `parallel`, on
  /// the calling thread.
  void (*gemm)(const sw_gemm_desc *desc, const void *a, const void *b, void *c);
  /// Ends the step with an error found by generated code. Does not return.
  void (*fail)(sw_rank *rank, const char *message);
  /// Runs `body` on parts of [0, extent) in parallel, on the threads of the
  /// rank; all parts but the last are multiples of `grain`. With one thread,
  /// and in a body of `parallel`, it is one call for the whole range. A failure
  /// in `body` ends its part.
  void (*parallel)(void (*body)(void **arguments, int64_t lower, int64_t upper),
                   void **arguments, int64_t extent, int64_t grain);
  /// One convolution, on the same threads as `gemm`.
  void (*convolution)(const sw_convolution_desc *desc, const void *a,
                      const void *b, void *c);
  /// Launches kernel `kernel` of the manifest; `arguments` points to the 8
  /// bytes of each argument, which are copied.
  void (*launch)(sw_rank *rank, int64_t kernel, void *const *arguments);
  /// Sets `bytes` bytes to `byte`.
  void (*fill)(sw_rank *rank, void *to, int32_t byte, int64_t bytes);
  /// Copies within the memory of the rank; the ranges must not overlap.
  void (*copy)(sw_rank *rank, void *to, const void *from, int64_t bytes);
  /// One contraction on the device, accumulated in float32 (in float64 for
  /// float64). `bias` and `aux` are null if the epilogue does not use them.
  void (*contract)(sw_rank *rank, const sw_contraction_desc *desc,
                   const void *a, const void *b, void *c, void *bias,
                   void *aux);
  /// Attention on the device; `stats` may be null if no gradient needs it.
  void (*attend)(sw_rank *rank, const sw_attention_desc *desc, const void *q,
                 const void *k, const void *v, void *o, void *stats,
                 const void *bias);
  /// Gradients of attention, from `o` and `stats` of attend, and from `d_o`.
  void (*attend_gradient)(sw_rank *rank, const sw_attention_desc *desc,
                          const void *q, const void *k, const void *v,
                          const void *o, const void *stats, const void *d_o,
                          void *d_q, void *d_k, void *d_v, const void *bias);
  /// One convolution or its gradient on the device; `writes` names the output.
  void (*convolve)(sw_rank *rank, const sw_convolve_desc *desc, void *x,
                   void *w, void *y);
  /// Marks the rank's bucket of a collective as complete; the sum or gather
  /// begins when all its ranks have done so. Never blocks.
  void (*all_reduce)(sw_rank *rank, int64_t collective);
  /// Waits until the sum, or the gathered parts, are in the rank's bucket.
  void (*await_reduced)(sw_rank *rank, int64_t collective);
  /// A fallback: as `launch`, but runs only if the device's library has no
  /// algorithm for the preceding `contract`, `attend` or attention gradient,
  /// in place of that call; several may follow one call. For a contraction with
  /// an epilogue it does the epilogue alone: the product is then in C, or in
  /// aux if the epilogue writes aux.
  void (*otherwise)(sw_rank *rank, int64_t kernel, void *const *arguments);
  /// Begins to copy stash slot `m` to a stash in the memory of the device's
  /// host. The lifetime of the slot ends with the copy.
  void (*offload)(sw_rank *rank, int64_t buffer, int64_t host, int64_t m);
  /// Begins to copy it back, to a stash slot whose lifetime begins here.
  void (*fetch)(sw_rank *rank, int64_t host, int64_t buffer, int64_t m);
  /// Waits for that copy; returns the slot's address. May be called again.
  void *(*fetched)(sw_rank *rank, int64_t buffer, int64_t m);
  /// On CPUs, for ranks without a fixed order (`--execution=ready`): waits
  /// until one of the rank's rows in the manifest can run, and returns its
  /// number. The row returned before is then done.
  int64_t (*choose)(sw_rank *rank);
  /// At the end of a step: counts it, and begins or merges average `average` of
  /// the rank's manifest if one is due. In an artifact for a device it only
  /// checks the number: the runtime enqueues averages after the step.
  void (*average)(sw_rank *rank, int64_t average);
} sw_api;

//===----------------------------------------------------------------------===//
// 2. What a host calls
//===----------------------------------------------------------------------===//

/// A loaded artifact. Several steps may use it; not thread-safe.
typedef struct sw_program sw_program;

/// An instance of a program for a number of microbatches: arenas, channels
/// and one waiting thread per rank. Not thread-safe.
typedef struct sw_step sw_step;

/// A whole tensor in row-major order, as the host sees it: a batch argument has
/// a leading dimension of the number of microbatches, a parameter that is
/// stored in slices has its original shape.
typedef struct sw_tensor {
  int32_t dtype;        ///< sw_dtype
  int32_t rank;         ///< number of dimensions
  const int64_t *shape; ///< `rank` extents
  void *data;           ///< row-major elements, any alignment
} sw_tensor;

/// Options of a step. `size` must be sizeof(sw_options); 0 in any other field
/// is the default.
typedef struct sw_options {
  size_t size;
  int64_t microbatches; ///< 0: the number the program was compiled for
  int32_t trace;        ///< number of last steps whose actions, messages and
                        ///< collectives are recorded
  int32_t check;        ///< check slot lifetimes and measure the live peak
  int32_t profile;      ///< record the time of every node
  int32_t pin;          ///< pin the threads of the ranks to processors
  int32_t threads;      ///< per rank; 0: one
  const char *devices;  ///< by rank, "0,0,1,1"; null: in order
  int32_t direct;       ///< enqueue every step again; do not replay a graph
  double deadline;      ///< seconds without progress of a rank, of a step on
                        ///< devices or of a wait, after which the step fails;
                        ///< 0: derived from the times of earlier steps
  int32_t processes;    ///< this process, which has connected, runs one rank
  int32_t any_hosts;    ///< assign ranks to processes in order, ignoring hosts
  int32_t any_order;    ///< device libraries may sum in a different order in
                        ///< every run, which is faster
  int32_t finite;       ///< on CPUs: the step fails if a loss, a parameter
                        ///< after its update or, without updates, a gradient
                        ///< is NaN or infinite
  const char *dilate;   ///< on CPUs: ranks that compute slower, by factors,
                        ///< "2:1.48,3:1.48"; null: none
  const char *pace;     ///< on CPUs, for experiments; null: none. Entries with
                        ///< commas between: set times of actions,
                        ///< "F:5ms,B:10ms"; their random delays,
                        ///< "jitter:0.5,seed:7"; a delay of messages between
                        ///< threads, "hop:1ms"; "sends": messages between
                        ///< processes keep to the rates in the artifact
} sw_options;

/// The error of the last call on this thread that can fail; empty if it
/// succeeded.
SW_EXPORT const char *sw_error(void);

/// Checks and opens an artifact. All checks of its data are done before any of
/// its code is mapped for execution.
SW_EXPORT sw_program *sw_load(const char *path);
SW_EXPORT sw_program *sw_load_bytes(const void *data, size_t size);
/// Reads the manifest only, so that an artifact for another machine can be
/// inspected; the program cannot create steps.
SW_EXPORT sw_program *sw_inspect(const char *path);
SW_EXPORT void sw_unload(sw_program *program);

/// The manifest, JSON text that lives as long as the program.
SW_EXPORT const char *sw_manifest(const sw_program *program);
/// What computes contractions on CPUs: "tiles for AVX2", or a library's name
/// and path.
SW_EXPORT const char *sw_blas(const sw_program *program);

/// Numbers of arguments and results that a host sees, and the tensor of
/// entry `index` of either list for a number of microbatches (`data` is
/// left null; `shape` lives until the next call on this thread). `position`
/// receives the argument's or result's position in the original step.
SW_EXPORT int64_t sw_argument_count(const sw_program *program);
SW_EXPORT int64_t sw_result_count(const sw_program *program);
SW_EXPORT int sw_argument(const sw_program *program, int64_t index,
                          int64_t microbatches, int64_t *position,
                          sw_tensor *tensor);
SW_EXPORT int sw_result(const sw_program *program, int64_t index,
                        int64_t microbatches, int64_t *position,
                        sw_tensor *tensor);

/// Proves, without a device, that a step of an artifact for devices finishes
/// and that no two live buffers alias; returns the counts as text that lives
/// until the next call on this thread. Null: the proof failed, or the artifact
/// is for CPUs. `devices` as in sw_options; null or "": one for each rank. With
/// `processes` every rank has its own process, and a message blocks until both
/// its ends are ready, as NCCL's do.
SW_EXPORT const char *sw_dry_run(const sw_program *program,
                                 int64_t microbatches, const char *devices,
                                 int processes);
/// Counts, without a device, the kernels and library calls of a step of an
/// artifact for devices, with the bytes and operations of each; JSON that lives
/// until the next call on this thread (format: lib/Runtime/Cuda/StepWork.h).
/// Null: the artifact is for CPUs, or from an older compiler.
SW_EXPORT const char *sw_count_step(const sw_program *program,
                                    int64_t microbatches);

/// Asks the graph library (cuDNN) for its plans of all attention and
/// convolutions of an artifact for devices, on `architectures` such as
/// "sm_80,sm_90"; the machine needs no such device. Returns a line for each,
/// text that lives until the next call on this thread. `missing`: how many have
/// neither a plan nor fallback kernels. Null: the library is not available, or
/// the artifact is for CPUs. The process must not use a device.
SW_EXPORT const char *sw_library_plans(const sw_program *program,
                                       int64_t microbatches,
                                       const char *architectures,
                                       int64_t *missing);

/// Allocates the arenas and starts the threads.
SW_EXPORT sw_step *sw_step_create(sw_program *program,
                                  const sw_options *options);
SW_EXPORT void sw_step_destroy(sw_step *step);

/// Copies one argument into the arenas of the ranks that use it.
SW_EXPORT int sw_step_set_input(sw_step *step, int64_t position,
                                const sw_tensor *tensor);
/// Runs one step and waits for its end; an error names the first failed rank.
SW_EXPORT int sw_step_run(sw_step *step);
/// Copies one result out into `tensor->data`; type and shape must agree.
SW_EXPORT int sw_step_get_output(sw_step *step, int64_t position,
                                 const sw_tensor *tensor);
/// Copies `bytes` bytes of a result to `data`, from byte `offset` of its
/// row-major elements, so that a large result can be saved in little memory.
/// With several processes both calls are collective, and only the process of
/// rank 0 gets data; the others may pass null.
SW_EXPORT int sw_step_read_output(sw_step *step, int64_t position,
                                  int64_t offset, int64_t bytes, void *data);

/// Wall time of the last step, seconds.
SW_EXPORT double sw_step_seconds(const sw_step *step);
/// Seconds without progress after which the next step fails. After such a
/// failure a rank's thread may still be blocked: the step cannot run again, and
/// destroying it does not free its memory.
SW_EXPORT double sw_step_deadline(const sw_step *step);
/// The part of sw_step_seconds in which the host enqueued the step on the
/// devices; 0 on CPUs.
SW_EXPORT double sw_step_enqueue_seconds(const sw_step *step);
/// Bytes allocated for one rank; for rank -1, the sum over all ranks.
SW_EXPORT int64_t sw_step_arena_bytes(const sw_step *step, int64_t rank);
/// Peak of live bytes on one rank (only if checking, else -1), and the peak
/// that the manifest predicts for this number of microbatches.
SW_EXPORT int64_t sw_step_peak_bytes(const sw_step *step, int64_t rank);
SW_EXPORT int64_t sw_step_predicted_bytes(const sw_step *step, int64_t rank);

/// The fraction of a step's time in which the rank ran no action, waiting for
/// messages included: the median over up to 4096 steps. Needs option `profile`.
SW_EXPORT double sw_step_idle_share(const sw_step *step, int64_t rank);

/// The same for the last step alone, for every rank, written to `shares`; needs
/// option `trace` or `profile`. With several processes it is collective, and
/// each gets all shares.
SW_EXPORT int sw_step_last_idle(sw_step *step, double *shares);

/// Bytes that a rank sent in one step.
typedef struct sw_traffic {
  int64_t microbatches; /* in messages and gathers of single microbatches */
  int64_t once;         /* in messages of the whole step: parts of gradients,
                           new parameters */
  int64_t sums;         /* in buckets summed over ranks */
} sw_traffic;

/// Writes the bytes that every rank sent in the last step to `traffic`, which
/// has room for all ranks; returns the number of ranks, or -1. With several
/// processes it is collective: the first gets all ranks, the others none (0).
SW_EXPORT int64_t sw_step_sent_bytes(sw_step *step, sw_traffic *traffic);

/// Writes the recorded data, atomically: the last steps as Chrome trace JSON;
/// the median seconds of nodes, actions, messages and steps as a profile.
SW_EXPORT int sw_step_write_trace(sw_step *step, const char *path);
SW_EXPORT int sw_step_write_profile(sw_step *step, const char *path);

/// Connects the processes that a launcher started, one for each rank: "mpi" for
/// mpirun or srun, called before any MPI function; "sockets" for pp-run
/// --processes, with ranks on devices. Call it once. Then creating a step with
/// `processes`, running it, its outputs and its reports are collective: all
/// processes must make the same calls in the same order. The process of rank 0
/// gets results and files; `data` of tensors may be null in the others.
SW_EXPORT int sw_connect(const char *transport);

/// How the processes of ranks on devices connect, whatever launcher started
/// them. `size` must be sizeof(sw_rendezvous).
typedef struct sw_rendezvous {
  size_t size;
  const char *host;          ///< of rank 0: a name or an address
  int64_t port;              ///< at that host, 1 to 65535
  int64_t rank, ranks;       ///< of this process; the number of all
  double seconds;            ///< that each waits for all others
  const sw_program *program; ///< must be equal in all; null: not compared
} sw_rendezvous;

/// As `sw_connect`, without MPI: rank 0 listens and the others connect. Returns
/// 0 on success; 1 on an error that rank 0 has too, and reports; else negative.
SW_EXPORT int sw_connect_at(const sw_rendezvous *how);
/// The number of this process (once it has a step, that of its rank), and the
/// number of processes.
SW_EXPORT int64_t sw_process(void);
SW_EXPORT int64_t sw_process_count(void);
/// Collective: fails in all processes, with the same error, if `error` is
/// neither null nor empty in one of them. Call it after work that a process
/// does alone (loading, inputs, files), before the next collective call.
SW_EXPORT int sw_agree(const char *error);
/// As `sw_agree`, after a step: waits for the others only as long as for a
/// message of a step.
SW_EXPORT int sw_step_agree(const sw_step *step, const char *error);
/// Collective: copies `bytes` bytes of process 0 to all; no-op if alone.
SW_EXPORT int sw_broadcast(void *data, int64_t bytes);
/// Collective: 1 if `mine` is not 0 in at least one process, else 0. After a
/// step it waits for the others as long as for a message of a step.
SW_EXPORT int sw_any(int mine);
/// Requests an orderly stop; a signal handler may call it. With several
/// processes all learn of it when they end a step or call sw_agree, so that
/// `sw_interrupted` returns the same in all.
SW_EXPORT void sw_interrupt(void);
SW_EXPORT int sw_interrupted(void);
/// Disconnects; collective, after the steps are destroyed.
SW_EXPORT int sw_disconnect(void);
/// Ends all processes immediately. If there are several, one prints the error,
/// which may be null.
SW_EXPORT void sw_abort(int status, const char *error);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_RUNTIME_H
