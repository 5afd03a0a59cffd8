//===- Measured.h - a plan with measured times ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces estimates by the measured times of a run, and compares the simulated
// step with the measured one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H
#define STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H

#include "Load.h"
#include "stagewright/Cost/Profile.h"

namespace stagewright {

/// Sets the times of stages to those of the actions in `profile`, and of
/// channels to those of its hops: 0 if no rank waited for one. The error names
/// an action that `file` has no time for.
Status applyProfile(const Profile &profile, const std::string &file,
                    Simulation &simulation);

/// One line: the simulated step, including the times before and after its
/// actions, and its deviation from the measured one. Empty without a measured
/// step.
std::string measuredOf(const Simulation &simulation);

/// (predicted - measured) / measured.
double predictionError(const ProfiledStep &step, Seconds makespan);

/// The predicted step for a simulated makespan, including the times before and
/// after its actions.
Seconds predictedStep(const ProfiledStep &step, Seconds makespan);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H
