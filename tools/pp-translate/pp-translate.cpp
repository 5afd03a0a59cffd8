//===- pp-translate.cpp - imports profiles, exports plans -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "stagewright/Support/Text.h"
#include "stagewright/Target/Profile.h"
#include "llvm/Support/PrettyStackTrace.h"

int main(int argc, char **argv) {
  llvm::setBugReportMsg(stagewright::kFaultReport);
  stagewright::registerProfileTranslations();
  return mlir::failed(mlir::mlirTranslateMain(
      argc, argv,
      "Stagewright: imports profiles, exports plans and schedules\n"));
}
