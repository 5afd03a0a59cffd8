//===- FlowData.cpp - flows between the hosts of a program ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/FlowData.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <cmath>

namespace stagewright::pipeline {

namespace {
/// A program as flows. The NIC of host h is the links 2 h (out) and 2 h + 1
/// (in).
struct Flows {
  PipelineModel model;
  std::vector<int64_t> nodes; ///< By host: its node in the cluster.
};
} // namespace

static FailureOr<Flows> flowsOf(ProgramOp program, LinkSharing sharing) {
  Result<StagePlacement> where =
      stagewright::placementOf(ranksOfStages(program));
  if (where && where->placement == Placement::Twin)
    return emitError(program.getLoc())
           << "flows are not supported for stages on two devices each "
              "(placement twin); use a schedule with each stage on one device";
  FailureOr<Problem> problem =
      problemOf(graphOf(program), readCluster(clusterOf(program)));
  if (failed(problem))
    return failure();
  problem->microbatches = int64_t(program.getMicrobatches());
  problem->model.sharing = sharing;
  if (Status status = problem->check(); !status)
    return emitWithNotes(program.getLoc(), status.error());
  Result<Network> network = Network::create(problem->cluster);
  if (!network)
    return emitWithNotes(program.getLoc(), network.error());
  Plan plan = planOf(program);
  Flows flows{stagewright::pipelineOf(*problem, *network, plan), {}};
  flows.nodes.resize(network->numHosts());
  for (size_t device = 0; device < network->size(); ++device)
    flows.nodes[network->hostOf(device)] =
        problem->cluster.devices[device].node;
  if (Status status = flows.model.check(); !status)
    return emitWithNotes(program.getLoc(), status.error());
  return flows;
}

FailureOr<int64_t> writeFlows(ProgramOp program, bool withRates) {
  FailureOr<Flows> flows = flowsOf(program, LinkSharing::Oes);
  if (failed(flows))
    return failure();
  const PipelineModel &model = flows->model;
  Builder builder(program.getContext());
  size_t nics = 2 * flows->nodes.size();
  std::vector<size_t> degrees = linkDegrees(model);
  SmallVector<Attribute> connections, hosts;
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  auto add = [&](size_t from, size_t to, Seconds alone,
                 const std::vector<std::vector<size_t>> &lanes) {
    for (auto [lane, links] : llvm::enumerate(lanes)) {
      std::optional<size_t> out, in;
      double rate = std::numeric_limits<double>::infinity(), sure = rate;
      for (size_t link : links) {
        rate = std::min(rate, model.linkRates[link]);
        sure = std::min(sure, model.linkRates[link] / double(degrees[link]));
        if (link < nics)
          (link % 2 == 0 ? out : in) = link / 2;
      }
      // A lane may have no microbatch.
      auto ways = int64_t(lanes.size());
      int64_t count = (model.microbatches + ways - 1 - int64_t(lane)) / ways;
      if (!out || !in || alone <= Seconds() || count < 1)
        continue;
      SmallVector<NamedAttribute> entry = {
          number("from", int64_t(from)), number("to", int64_t(to)),
          number("from_host", flows->nodes[*out]),
          number("to_host", flows->nodes[*in]),
          number("bytes", std::llround(alone.value * rate * double(count)))};
      if (withRates)
        entry.push_back(
            builder.getNamedAttr("rate", builder.getF64FloatAttr(sure)));
      connections.push_back(builder.getDictionaryAttr(entry));
    }
  };
  for (const PipelineChannel &channel : model.channels) {
    if (channel.hasForward)
      add(channel.from, channel.to, channel.forward - channel.latency,
          channel.forwardShared);
    if (channel.hasBackward && !model.forwardOnly)
      add(channel.to, channel.from, channel.backward - channel.latency,
          channel.backwardShared);
  }
  size_t degree = 0;
  for (size_t host = 0; host < flows->nodes.size(); ++host) {
    degree = std::max({degree, degrees[2 * host], degrees[2 * host + 1]});
    hosts.push_back(builder.getDictionaryAttr(
        {number("host", flows->nodes[host]),
         number("out", int64_t(degrees[2 * host])),
         number("in", int64_t(degrees[2 * host + 1]))}));
  }
  program->setAttr(kFlows, builder.getArrayAttr(connections));
  program->setAttr(kNics, builder.getArrayAttr(hosts));
  program->setAttr(kDegree, builder.getI64IntegerAttr(int64_t(degree)));
  return int64_t(connections.size());
}

FailureOr<FlowCertificate> certifyFlows(ScheduleOp schedule,
                                        LinkSharing sharing) {
  FailureOr<Flows> flows = flowsOf(programOf(schedule), sharing);
  if (failed(flows))
    return failure();
  Result<FlowCertificate> certificate =
      stagewright::certifyFlows(flows->model, readSchedule(schedule));
  if (!certificate)
    return LogicalResult(emitWithNotes(schedule.getLoc(), certificate.error()));
  return *certificate;
}

/// The numbers of a certificate, by the names of their attributes.
static std::array<std::pair<StringRef, double>, 3>
secondsOf(const FlowCertificate &certificate) {
  return {{{"critical_path", certificate.criticalPath.value},
           {"link_load", certificate.linkLoad.value},
           {"makespan", certificate.makespan.value}}};
}

void writeCertificate(ScheduleOp schedule, const FlowCertificate &certificate,
                      LinkSharing sharing) {
  Builder builder(schedule.getContext());
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("policy", builder.getStringAttr(toString(sharing))),
      builder.getNamedAttr(
          "degree", builder.getI64IntegerAttr(int64_t(certificate.degree)))};
  for (auto [name, seconds] : secondsOf(certificate))
    entries.push_back(
        builder.getNamedAttr(name, builder.getF64FloatAttr(seconds)));
  schedule->setAttr(kFlowSchedule, builder.getDictionaryAttr(entries));
}

LogicalResult verifyFlows(ScheduleOp schedule) {
  Attribute stated = schedule->getAttr(kFlowSchedule);
  if (!stated)
    return success();
  auto entries = dyn_cast<DictionaryAttr>(stated);
  auto policy = entries ? entries.getAs<StringAttr>("policy") : StringAttr();
  auto degree = entries ? entries.getAs<IntegerAttr>("degree") : IntegerAttr();
  if (!policy || !degree)
    return emitError(schedule.getLoc())
           << "'" << kFlowSchedule
           << "' has no policy or degree; run pipeline-schedule-flows again";
  Result<LinkSharing> sharing = parseLinkSharing(policy.getValue());
  if (!sharing)
    return emitError(schedule.getLoc()) << sharing.error().message;
  FailureOr<FlowCertificate> certificate = certifyFlows(schedule, *sharing);
  if (failed(certificate))
    return failure();
  auto differs = [&](StringRef name, const std::string &stated,
                     const std::string &own) {
    return emitError(schedule.getLoc())
           << "'" << kFlowSchedule << "' states " << name << " " << stated
           << ", and the schedule has " << own
           << "; run pipeline-schedule-flows again";
  };
  if (degree.getInt() != int64_t(certificate->degree))
    return differs("degree", std::to_string(degree.getInt()),
                   std::to_string(certificate->degree));
  for (auto [name, seconds] : secondsOf(*certificate)) {
    auto value = entries.getAs<FloatAttr>(name);
    double number = value ? value.getValueAsDouble() : std::nan("");
    if (!(std::abs(number - seconds) <= 1e-6 * seconds))
      return differs(name, plainly(number), plainly(seconds));
  }
  return success();
}

} // namespace stagewright::pipeline
