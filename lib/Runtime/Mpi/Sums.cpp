//===- Sums.cpp - sums and gathers over processes by MPI ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mpi/Sums.h"

#include "DType.h"
#include "Mpi/Calls.h"
#include "Sum.h"

#include <climits>
#include <cstdlib>

namespace stagewright::runtime {

namespace {

MPI_Datatype typeOf(sw_dtype dtype) {
  switch (dtype) {
  case SW_F32:
    return MPI_FLOAT;
  case SW_F64:
    return MPI_DOUBLE;
  case SW_I8:
    return MPI_INT8_T;
  case SW_I16:
    return MPI_INT16_T;
  case SW_I32:
    return MPI_INT32_T;
  case SW_I64:
    return MPI_INT64_T;
  case SW_U8:
    return MPI_UINT8_T;
  case SW_U32:
    return MPI_UINT32_T;
  case SW_U64:
    return MPI_UINT64_T;
  case SW_F16:
  case SW_BF16:
  case SW_U16:
    return MPI_UINT16_T;
  case SW_BOOL:
  case SW_F8E4M3FN:
  case SW_F8E5M2:
    break;
  }
  raise("numbers of type ", dtypeName(dtype), " have no sum over ranks");
}

template <sw_dtype dtype>
void addTo(void *from, void *to, int *count, MPI_Datatype *) {
  sumInto(dtype, to, from, *count);
}

template <sw_dtype dtype> MPI_Op made(MPI_Op &operation) {
  if (operation == MPI_OP_NULL)
    check(MPI_Op_create(addTo<dtype>, /*commute=*/1, &operation),
          "make an operation");
  return operation;
}

} // namespace

void MpiSums::chooseAlgorithm() {
  // A choice of the user is kept; MPIs other than Open MPI ignore the variable.
  ::setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "rabenseifner",
           /*overwrite=*/0);
}

MPI_Op MpiSums::operationOf(sw_dtype dtype) {
  if (dtype == SW_BF16)
    return made<SW_BF16>(brains);
  if (dtype == SW_F16)
    return made<SW_F16>(halves);
  return MPI_SUM;
}

MPI_Comm MpiSums::groupOf(MPI_Comm all, std::span<const int64_t> ranks) {
  std::vector<int> members(ranks.begin(), ranks.end());
  auto [known, isNew] = groups.try_emplace(members, MPI_COMM_NULL);
  if (!isNew)
    return known->second;
  MPI_Group everybody, group;
  check(MPI_Comm_group(all, &everybody), "read a group");
  check(MPI_Group_incl(everybody, int(members.size()), members.data(), &group),
        "make a group");
  check(MPI_Comm_create_group(all, group, 0, &known->second),
        "make a communicator");
  MPI_Group_free(&group);
  MPI_Group_free(&everybody);
  MPI_Comm_set_errhandler(known->second, MPI_ERRORS_RETURN);
  return known->second;
}

int64_t MpiSums::prepare(MPI_Comm all, void *data, sw_dtype dtype,
                         int64_t elements, std::span<const int64_t> ranks) {
  if (elements > INT_MAX)
    raise("a sum has ", elements, " elements; MPI adds at most ", INT_MAX,
          "; compile with smaller buckets");
  sums.push_back({data, int(elements), typeOf(dtype), operationOf(dtype),
                  groupOf(all, ranks)});
  return int64_t(sums.size()) - 1;
}

int64_t MpiSums::prepareGather(MPI_Comm all, void *data, int64_t bytes,
                               std::span<const int64_t> ranks, bool exchanges) {
  int64_t count = bytes / 64;
  if (bytes % 64 || count > INT_MAX)
    raise(exchanges ? "an exchange" : "a gather", " has parts of ", bytes,
          " bytes; expected a multiple of 64, ", "at most ",
          int64_t(64) * INT_MAX);
  if (lines == MPI_DATATYPE_NULL) {
    check(MPI_Type_contiguous(64, MPI_BYTE, &lines), "make a type");
    check(MPI_Type_commit(&lines), "make a type");
  }
  Sum &gather = sums.emplace_back(
      Sum{data, int(count), lines, MPI_OP_NULL, groupOf(all, ranks)});
  int self = 0;
  if (exchanges) {
    if (count * int64_t(ranks.size()) > INT_MAX)
      raise("an exchange has ", bytes, " bytes for each of ", ranks.size(),
            " ranks, which is more than MPI moves");
    check(MPI_Comm_rank(gather.group, &self), "read a group");
    for (int rank = 0; rank < int(ranks.size()); ++rank) {
      gather.counts.push_back(rank == self ? 0 : gather.count);
      gather.places.push_back(rank * gather.count);
    }
  }
  return int64_t(sums.size()) - 1;
}

void MpiSums::start(int64_t number, MPI_Request &request) {
  const Sum &sum = sums[size_t(number)];
  if (!sum.counts.empty()) {
    std::byte *received = static_cast<std::byte *>(sum.data) +
                          int64_t(64) * sum.count * int64_t(sum.counts.size());
    return check(MPI_Ialltoallv(sum.data, sum.counts.data(), sum.places.data(),
                                sum.type, received, sum.counts.data(),
                                sum.places.data(), sum.type, sum.group,
                                &request),
                 "begin an exchange");
  }
  if (sum.operation == MPI_OP_NULL)
    return check(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sum.data,
                                sum.count, sum.type, sum.group, &request),
                 "begin a gather");
  check(MPI_Iallreduce(MPI_IN_PLACE, sum.data, sum.count, sum.type,
                       sum.operation, sum.group, &request),
        "begin a sum");
}

void MpiSums::leave() { groups.clear(); }

} // namespace stagewright::runtime
