//===- runtime.h - the C ABI of the Stagewright runtime ---------*- C -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two borders meet in this file, and nothing else of the runtime is public.
//
//  1. `sw_api`: what a compiled rank program calls. The artifact exports a
//     pointer variable `stagewright_api`; the runtime sets it once, after
//     dlopen, and generated code jumps through it. So an artifact has no
//     undefined symbol of ours and needs no library of ours at link time.
//  2. `sw_load` ... : what a host (pp-run, Python, a C++ application) calls.
//
// It is not a tensor library and knows no MLIR: every shape and byte count
// comes from the manifest inside the artifact. No exception crosses this
// border; a host function returns a negative number or a null pointer and
// leaves the reason in `sw_error()`.
//
// The table of functions follows PJRT's C API (one struct of pointers, grown
// only at its end); ring buffers with claim/send/recv/release are the bounded
// queues of Lamport's single producer, single consumer ring.
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

/// Version of this ABI and of the artifact's section; an artifact of another
/// version is refused at load.
#define SW_ABI_VERSION 6u

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

/// Kinds of action, as `action_begin` receives them: the letters of the
/// schedule's text form.
typedef enum sw_action {
  SW_FORWARD = 'F',
  SW_BACKWARD = 'B',
  SW_INPUT_GRADIENT = 'I',
  SW_WEIGHT_GRADIENT = 'W',
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
/// batch dimensions. All strides count elements, not bytes; they may be given
/// for any operand, so a transposed operand is one whose column stride is not
/// 1. Fast where each matrix has one stride equal to 1 (or an extent of 1);
/// right, but slow, otherwise. Batches of C must not overlap.
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

/// A sum of products in which the place in every operand is linear in up to
/// three loops over rows, one over columns and three over the sum, outermost
/// first; absent loops have extent 1. A convolution is the case in which a row
/// loop and a sum loop walk the same dimension of A; A is the padded image, and
/// B the weights or, for their gradient, the result's gradient. Rows may be cut
/// anywhere. Strides count elements. Rows of C must not overlap.
typedef struct sw_convolution_desc {
  int32_t dtype;        ///< SW_F32 or SW_F64
  int32_t beta;         ///< 0: overwrite C; 1: add to C
  int64_t rows[3];      ///< extents of the loops over A and C
  int64_t columns;      ///< extent of the loop over B and C
  int64_t sum[3];       ///< extents of the loops over A and B
  int64_t a_row[3];     ///< distance of the next row in A
  int64_t c_row[3];     ///< and in C
  int64_t a_sum[3];     ///< distance of the next term in A
  int64_t b_sum[3];     ///< and in B
  int64_t b_col, c_col; ///< distance of the next column in B and C
} sw_convolution_desc;

/// What a contraction on a device does with a sum before it stores it. GELU is
/// the one with tanh; with `beta` 1 the sum includes C.
typedef enum sw_epilogue {
  SW_EPILOGUE_NONE = 0,
  SW_EPILOGUE_BIAS = 1,          ///< adds bias[j]
  SW_EPILOGUE_GELU = 2,          ///< gelu of the sum
  SW_EPILOGUE_BIAS_GELU = 3,     ///< gelu of the sum and bias[j]
  SW_EPILOGUE_GELU_AUX = 4,      ///< GELU, its argument stored in aux
  SW_EPILOGUE_BIAS_GELU_AUX = 5, ///< BIAS_GELU, its argument stored in aux
  SW_EPILOGUE_DGELU = 6, ///< times the derivative of gelu at what aux holds
  SW_EPILOGUE_DGELU_BIAS = 7, ///< DGELU, and its sums over i stored in bias[j]
  SW_EPILOGUE_A_SUM = 8,      ///< stores sum_k A[i,k] in bias[i]
  SW_EPILOGUE_B_SUM = 9,      ///< stores sum_k B[k,j] in bias[j]
  SW_EPILOGUE_ADD = 10        ///< adds what aux holds
} sw_epilogue;

/// A contraction on a device. Each matrix must have a stride of 1 (or an extent
/// of 1); with an epilogue the columns of C have it, and so have those of aux,
/// whose rows are `aux_row` apart. Where A or B is of 8 bits, k must be
/// contiguous in both, every extent, stride and address a multiple of 16, and
/// one of them f8e4m3fn.
typedef struct sw_contraction_desc {
  sw_gemm_desc gemm;  ///< extents and strides; its dtype is that of C
  int32_t a_dtype;    ///< sw_dtype of A
  int32_t b_dtype;    ///< and of B
  int32_t bias_dtype; ///< of bias, where there is one
  int32_t aux_dtype;  ///< of aux, where there is one
  int32_t tf32;       ///< 1: float32 may be rounded to TF32 before products
  int32_t epilogue;   ///< sw_epilogue
  int32_t otherwise;  ///< 1: `otherwise` follows: of the epilogue, or of all
  int32_t reserved;   ///< 0
  int64_t aux_row;    ///< distance of the next row in aux
} sw_contraction_desc;

/// The functions of the runtime, in an order that is part of the ABI.
/// Buffer, channel, node and collective numbers are those of the manifest; `m`
/// is a microbatch, and every pointer returned is aligned to 64 bytes. After a
/// failure anywhere in the step, `acquire`, `release`, `claim`, `send`,
/// `recv`, `release_channel`, `action_begin`, `all_reduce`, `await_reduced`,
/// `offload` and `fetch` do not return: they leave the rank's entry by longjmp,
/// so generated frames must own nothing.
///
/// In an artifact for a device every address is one of the device and every
/// call only adds to the rank's program, in order: nothing has run when the
/// entry returns. So the entry never reads what it addresses, and the runtime
/// calls it when a step is made, not when it runs.
typedef struct sw_api {
  /// Address of slot `m mod depth` of a buffer that is always held.
  void *(*slot)(sw_rank *rank, int64_t buffer, int64_t m);
  /// Address of a stash slot whose life begins here; recorded when checking.
  void *(*acquire)(sw_rank *rank, int64_t buffer, int64_t m);
  /// End of that life.
  void (*release)(sw_rank *rank, int64_t buffer, int64_t m);
  /// Sender: waits until the receiver's slot for `m` is free, and gives it.
  void *(*claim)(sw_rank *rank, int64_t channel, int64_t m);
  /// Sender: publishes what was written into the claimed slot. Never blocks.
  void (*send)(sw_rank *rank, int64_t channel, int64_t m);
  /// Receiver: waits for microbatch `m` of the channel; the slot stays held.
  /// Asked again before the release, as a backward asks for what its forward
  /// has received, it gives the same address and waits for nothing.
  void *(*recv)(sw_rank *rank, int64_t channel, int64_t m);
  /// Receiver: gives the slot back to the sender.
  void (*release_channel)(sw_rank *rank, int64_t channel, int64_t m);
  /// Borders of one action of the schedule, for the trace.
  void (*action_begin)(sw_rank *rank, int32_t kind, int64_t stage, int64_t m);
  void (*action_end)(sw_rank *rank);
  /// Borders of one node, for the profile and the account of workspace:
  /// `workspace_bytes` is how much of the workspace the node used.
  void (*node_begin)(sw_rank *rank, int64_t node);
  void (*node_end)(sw_rank *rank, int64_t node, int64_t workspace_bytes);
  /// One contraction, on the threads of the rank; inside a part of `parallel`,
  /// on the calling one.
  void (*gemm)(const sw_gemm_desc *desc, const void *a, const void *b, void *c);
  /// Ends the step with an error found by generated code. Does not return.
  void (*fail)(sw_rank *rank, const char *message);
  /// Runs `body` on parts of [0, extent), on the threads of the rank and at
  /// once; parts are multiples of `grain` but the last. With one thread, and
  /// inside a part, it is one call with all. A failure inside leaves the part.
  void (*parallel)(void (*body)(void **arguments, int64_t lower, int64_t upper),
                   void **arguments, int64_t extent, int64_t grain);
  /// One convolution; as `gemm`.
  void (*convolution)(const sw_convolution_desc *desc, const void *a,
                      const void *b, void *c);
  /// One launch of the manifest's kernel of that number; `arguments` points to
  /// the 8 bytes of each argument, which are copied.
  void (*launch)(sw_rank *rank, int64_t kernel, void *const *arguments);
  /// Every one of `bytes` bytes becomes `byte`.
  void (*fill)(sw_rank *rank, void *to, int32_t byte, int64_t bytes);
  /// Copies between places of the rank that do not overlap.
  void (*copy)(sw_rank *rank, void *to, const void *from, int64_t bytes);
  /// One contraction on the device, accumulated in float32 (float64 for
  /// float64). `bias` and `aux` are null where the epilogue has none.
  void (*contract)(sw_rank *rank, const sw_contraction_desc *desc,
                   const void *a, const void *b, void *c, void *bias,
                   void *aux);
  /// Attention on the device; `stats` may be null where no gradient needs it.
  void (*attend)(sw_rank *rank, const sw_attention_desc *desc, const void *q,
                 const void *k, const void *v, void *o, void *stats,
                 const void *bias);
  /// Its gradients, from `o` and `stats` as attend wrote them and from `d_o`.
  void (*attend_gradient)(sw_rank *rank, const sw_attention_desc *desc,
                          const void *q, const void *k, const void *v,
                          const void *o, const void *stats, const void *d_o,
                          void *d_q, void *d_k, void *d_v, const void *bias);
  /// One convolution or gradient on the device; writes one of the three.
  void (*convolve)(sw_rank *rank, const sw_convolve_desc *desc, void *x,
                   void *w, void *y);
  /// The rank's bucket of a collective is complete; the sum over its ranks
  /// begins when all have said so. Never blocks.
  void (*all_reduce)(sw_rank *rank, int64_t collective);
  /// Waits until the sum is in the rank's bucket.
  void (*await_reduced)(sw_rank *rank, int64_t collective);
  /// As `launch`, in the place of the `contract` or `attend` before it, and
  /// done only where the device's library has no algorithm for that; several
  /// may follow one call. Of a contraction with an epilogue it is the epilogue
  /// alone: the product lies in C then, or in aux where the epilogue fills
  /// that.
  void (*otherwise)(sw_rank *rank, int64_t kernel, void *const *arguments);
  /// Begins to copy the slot of `m` of a stash, whose life ends with the copy,
  /// to that of a stash in the memory of the device's host.
  void (*offload)(sw_rank *rank, int64_t buffer, int64_t host, int64_t m);
  /// Begins to copy it back, to the slot of a stash whose life begins.
  void (*fetch)(sw_rank *rank, int64_t host, int64_t buffer, int64_t m);
  /// Waits for that copy; the address of the slot. May be asked again.
  void *(*fetched)(sw_rank *rank, int64_t buffer, int64_t m);
} sw_api;

//===----------------------------------------------------------------------===//
// 2. What a host calls
//===----------------------------------------------------------------------===//

/// A loaded artifact. May be used by several steps; not thread-safe.
typedef struct sw_program sw_program;

/// An instance of a program for a number of microbatches: arenas, channels
/// and one waiting thread per rank. Not thread-safe.
typedef struct sw_step sw_step;

/// Whole tensor in row-major order, as the host sees it: a batch argument has
/// a leading dimension of the number of microbatches, a parameter owned in
/// slices has its original shape.
typedef struct sw_tensor {
  int32_t dtype;        ///< sw_dtype
  int32_t rank;         ///< number of dimensions
  const int64_t *shape; ///< `rank` extents
  void *data;           ///< row-major elements, any alignment
} sw_tensor;

/// How a step is made. `size` must be sizeof(sw_options); zero elsewhere is
/// the default.
typedef struct sw_options {
  size_t size;
  int64_t microbatches; ///< 0: the number the program was compiled for
  int32_t trace;        ///< record actions, sends and receives: of how many
                        ///< of the last steps
  int32_t check;        ///< check the life of every slot and the live peak
  int32_t profile;      ///< record the time of every node
  int32_t pin;          ///< pin the threads of the ranks to processors
  int32_t threads;      ///< of each rank; 0: one
  const char *devices;  ///< of each rank, "0,0,1,1"; null: in order
  int32_t direct;    ///< enqueue every step anew instead of replaying a graph
  double deadline;   ///< seconds that a rank may stand still, a step on
                     ///< devices or a wait may take; 0: by the steps before
  int32_t processes; ///< this process runs one rank; after sw_connect
  int32_t any_hosts; ///< ranks go to processes in order, whatever their hosts
  int32_t any_order; ///< libraries of a device may add up in another order at
                     ///< every run, which is faster
  int32_t finite;    ///< a loss, or a parameter after its update, that is
                     ///< infinite or no number ends the step; on processors
} sw_options;

/// The reason of the last failure on this thread; empty when there was none.
SW_EXPORT const char *sw_error(void);

/// Checks and opens an artifact. Everything a reader can check is checked
/// before any code of the artifact is mapped for execution.
SW_EXPORT sw_program *sw_load(const char *path);
SW_EXPORT sw_program *sw_load_bytes(const void *data, size_t size);
/// Reads the manifest only, so that an artifact for another machine can be
/// looked at; the program cannot make steps.
SW_EXPORT sw_program *sw_inspect(const char *path);
SW_EXPORT void sw_unload(sw_program *program);

/// The manifest, JSON text that lives as long as the program.
SW_EXPORT const char *sw_manifest(const sw_program *program);
/// The name and path of the library used for contractions.
SW_EXPORT const char *sw_blas(const sw_program *program);

/// Numbers of arguments and results that a host sees, and the tensor at
/// position `index` of either list for a number of microbatches (`data` is
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
/// and that its buffers never alias while they live; gives the counts as text
/// that lives until the next call on this thread. Null: it does not, or the
/// artifact is for processors. `devices` as in sw_options, null or "": one for
/// each rank; with `processes` every rank has a process of its own and messages
/// wait for both their ends, as NCCL's do.
SW_EXPORT const char *sw_dry_run(const sw_program *program,
                                 int64_t microbatches, const char *devices,
                                 int processes);
/// Counts, without a device, the kernels and calls of libraries of a step of an
/// artifact for devices, with the bytes and operations of each; JSON that lives
/// until the next call on this thread (lib/Runtime/Cuda/StepWork.h has its
/// form). Null: the artifact is for processors, or of an older compiler.
SW_EXPORT const char *sw_count_step(const sw_program *program,
                                    int64_t microbatches);

/// Asks the library of graphs (cuDNN) for its plans of all attention and
/// convolutions of an artifact for devices, on `architectures` as
/// "sm_80,sm_90", of which no device need be there; a line for each, text that
/// lives until the next call on this thread. `missing`: how many have neither a
/// plan nor kernels behind them. Null: the library is not there, or the
/// artifact is for processors. The process must use no device.
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
/// Runs one step to its end; an error names the rank that failed first.
SW_EXPORT int sw_step_run(sw_step *step);
/// Copies one result out into `tensor->data`; type and shape must agree.
SW_EXPORT int sw_step_get_output(sw_step *step, int64_t position,
                                 const sw_tensor *tensor);

/// Wall time of the last step, seconds.
SW_EXPORT double sw_step_seconds(const sw_step *step);
/// Seconds after which the next step's ranks have failed where they do not get
/// on. After such a failure a step on threads may have a rank that never comes
/// back: it cannot run again, and destroying it leaves its memory.
SW_EXPORT double sw_step_deadline(const sw_step *step);
/// Of them, what the host took to hand the step to the devices; 0 on
/// processors.
SW_EXPORT double sw_step_enqueue_seconds(const sw_step *step);
/// Bytes allocated for one rank; the sum over all for rank -1.
SW_EXPORT int64_t sw_step_arena_bytes(const sw_step *step, int64_t rank);
/// Highest number of live bytes seen on one rank (checking mode only, else
/// -1), and what the manifest predicts for this number of microbatches.
SW_EXPORT int64_t sw_step_peak_bytes(const sw_step *step, int64_t rank);
SW_EXPORT int64_t sw_step_predicted_bytes(const sw_step *step, int64_t rank);

/// The part of a step's time in which no action of the rank ran, waiting for
/// messages included: the median over all steps. Needs the option to profile.
SW_EXPORT double sw_step_idle_share(const sw_step *step, int64_t rank);

/// The same of the last step alone, of every rank into `shares`; needs the
/// option to trace or to profile. With processes a call of all, and each gets
/// all shares.
SW_EXPORT int sw_step_last_idle(sw_step *step, double *shares);

/// Bytes that a rank sent in a step.
typedef struct sw_traffic {
  int64_t microbatches; /* in messages of single microbatches */
  int64_t once;         /* in messages of the whole step: parts of gradients,
                           new parameters */
  int64_t sums;         /* in buckets that it gave to sums over ranks */
} sw_traffic;

/// What every rank sent in the last step, counted as it was sent, into
/// `traffic`, which has room for all ranks; how many ranks that is, or -1. With
/// processes a call of all: the first gets all ranks, the others none (0).
SW_EXPORT int64_t sw_step_sent_bytes(sw_step *step, sw_traffic *traffic);

/// Writes what was recorded, atomically: the last steps as Chrome trace JSON;
/// the median seconds of nodes, actions and steps over all steps as a profile.
SW_EXPORT int sw_step_write_trace(sw_step *step, const char *path);
SW_EXPORT int sw_step_write_profile(sw_step *step, const char *path);

/// Joins the processes that a launcher started, one for each rank: mpirun or
/// srun by the engine "mpi", before anything of MPI; pp-run --processes by
/// "sockets", for ranks on devices. Once. Then creating a
/// step with `processes`, running it, its outputs and its reports are calls
/// that all processes make in the same order. Results and files come to the
/// one that runs rank 0; `data` of tensors may be null in the others.
SW_EXPORT int sw_connect(const char *transport);

/// Where ranks on devices meet that any launcher started. `size` must be
/// sizeof(sw_rendezvous).
typedef struct sw_rendezvous {
  size_t size;
  const char *host;          ///< of rank 0: a name or an address
  int64_t port;              ///< there, 1 to 65535
  int64_t rank, ranks;       ///< the number of this process, of how many
  double seconds;            ///< that each waits for all to come
  const sw_program *program; ///< the same in all; null: it is not compared
} sw_rendezvous;

/// The same as `sw_connect`, without MPI: rank 0 listens, the others come. Not
/// 0 where they cannot meet; 1 where rank 0 has the same error, and reports it.
SW_EXPORT int sw_connect_at(const sw_rendezvous *how);
/// The number of this process, once it has a step that of its rank, and how
/// many there are.
SW_EXPORT int64_t sw_process(void);
SW_EXPORT int64_t sw_process_count(void);
/// Collective: fails in all processes, with the same error, when one of them
/// gives one that is not null or empty. What one process does alone (loading,
/// inputs, files) is agreed on before the next call of all.
SW_EXPORT int sw_agree(const char *error);
/// Collective: gives all processes `bytes` bytes of process 0; alone, nothing.
SW_EXPORT int sw_broadcast(void *data, int64_t bytes);
/// Collective: 1 where any process gives a number that is not 0, else 0. After
/// a step others wait for it as long as for a message of a step.
SW_EXPORT int sw_any(int mine);
/// Asks for an end in good order; a handler of a signal may call it. With
/// several processes all hear of it when they end a step or agree, so that
/// `sw_interrupted` has the same answer in all.
SW_EXPORT void sw_interrupt(void);
SW_EXPORT int sw_interrupted(void);
/// Leaves the others; collective, after the steps are destroyed.
SW_EXPORT int sw_disconnect(void);
/// Ends all processes at once; the error is told to the user, once of all. Null
/// where that has been done.
SW_EXPORT void sw_abort(int status, const char *error);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)

#endif // STAGEWRIGHT_RT_RUNTIME_H
