//===- LaunchFlags.cpp - flags of launches and of the supervisor ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

namespace stagewright::runtime {

void declareRendezvous(CLI::App &app, RendezvousOptions &options) {
  const char *group = "Ranks on GPUs, started by any launcher, without MPI";
  app.add_option(
         "--rendezvous", options.address,
         "Address where rank 0 listens and the others connect (default: "
         "MASTER_ADDR and MASTER_PORT of the environment; for srun the first "
         "host of the step). Examples: torchrun --no-python --nproc-per-node=4 "
         "pp-run step.swx ...; srun -n 4 pp-run step.swx ...; mpirun -n 4 "
         "pp-run step.swx --rendezvous=node01:29500 ...")
      ->type_name("HOST:PORT")
      ->group(group);
  app.add_option("--rank", options.rank,
                 "Rank of this process (default: RANK, OMPI_COMM_WORLD_RANK, "
                 "PMI_RANK, PMIX_RANK or SLURM_PROCID)")
      ->type_name("R")
      ->group(group);
  app.add_option("--ranks", options.ranks,
                 "Number of ranks (default: WORLD_SIZE, OMPI_COMM_WORLD_SIZE, "
                 "PMI_SIZE or SLURM_STEP_NUM_TASKS)")
      ->type_name("N")
      ->group(group);
  app.add_option("--rendezvous-timeout", options.seconds,
                 "Seconds to wait for all ranks to connect (default: 60)")
      ->type_name("SECONDS")
      ->group(group);
}

void declareSupervisor(CLI::App &app, SupervisorOptions &options) {
  const char *group = "Faults";
  app.add_option("--max-restarts", options.restarts,
                 "Max restarts after a fault, each from the last checkpoint")
      ->type_name("N")
      ->group(group);
  app.add_option("--launcher", options.launcher,
                 "Start the run with this command, such as 'mpirun -n 4', and "
                 "forward SIGTERM and SIGINT to all its processes")
      ->type_name("COMMAND")
      ->group(group);
}

std::vector<std::string>
withoutSupervisor(const std::vector<std::string> &arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool ours = false;
    for (std::string option : {"--max-restarts", "--launcher"}) {
      if (arguments[i] == option)
        ++i, ours = true;
      else if (arguments[i].starts_with(option + "="))
        ours = true;
      if (ours)
        break;
    }
    if (!ours)
      kept.push_back(arguments[i]);
  }
  return kept;
}

} // namespace stagewright::runtime
