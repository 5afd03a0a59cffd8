//===- Measured.h - a plan with measured times ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run's own times in the place of estimates, and what the simulation then
// predicts for the step that was measured with them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H
#define STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H

#include "Load.h"
#include "stagewright/Cost/Profile.h"

namespace stagewright {

/// Stages take what the actions of `profile` took, channels what its hops did:
/// nothing where no rank waited for one. The error names an action that `file`
/// has no time of.
Status applyProfile(const Profile &profile, const std::string &file,
                    Simulation &simulation);

/// The simulated step with what is before and behind its actions, and how far
/// the measured one is from it. A line; empty without a measured step.
std::string measuredOf(const Simulation &simulation);

/// (predicted - measured) / measured.
double predictionError(const ProfiledStep &step, Seconds makespan);

/// The step that is predicted for a simulated makespan.
Seconds predictedStep(const ProfiledStep &step, Seconds makespan);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_MEASURED_H
