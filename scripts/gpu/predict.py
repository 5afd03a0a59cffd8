"""Adds pp-sim's predictions from the costs measured on the GPU to a report; needs the tree that packed the bundle."""

import json
import subprocess
import tempfile

import report
from rows import FAILED, PASSED, failed, ms, row, told

WITHIN = 0.05


def predicted(build, plan, profile, folder):
    """pp-sim's result for a profile: measured and predicted step, and the error."""
    costs = folder / "profile.json"
    costs.write_text(json.dumps({key: value for key, value in profile.items() if key != "plain"}))
    done = subprocess.run([build / "bin/pp-sim", plan, f"--profile={costs}", "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-600:])
    return json.loads(done.stdout)["measured"]


def rows_of(build, bundle, name, profile, folder):
    plan = bundle / "plans" / f"{name}.mlir"
    if not plan.exists():
        return [failed(name, f"the bundle has no plan {plan}")]
    try:
        found = predicted(build, plan, profile, folder)
    except RuntimeError as problem:
        return [failed(name, problem)]
    plain = profile["plain"]
    error = found["predicted_s"] / plain - 1
    return [row(f"{name}, predicted step beside the measured one", "within 5 %",
                f"{100 * error:+.1f} % ({ms(found['predicted_s'])} and {ms(plain)})", abs(error) <= WITHIN),
            told(f"{name}, beside the step with stamps, in which the costs were measured",
                 f"{100 * found['error']:+.1f} % ({ms(found['step_s'])})")]


def add(bundle, build, out):
    """Returns 0 if every prediction is accurate enough."""
    if not (out / "report.json").exists():
        raise SystemExit(f"gpu-check: {out} has no report.json; name the folder that came back with --out")
    known = report.load(out / "report.json")
    profiles = {name: line["profile"] for name, item in known.get("profile", {"items": {}})["items"].items()
                for line in item["rows"] if "profile" in line}
    if not profiles:
        raise SystemExit("gpu-check: the report has no profiles: the section 'profile' has not run")
    items = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, profile in profiles.items():
            items[name] = {"rows": rows_of(build.resolve(), bundle, name, profile, type(out)(folder)), "seconds": 0}
    known["predict"] = {"items": items, "cuts": {}, "ended": True, "seconds": 0}
    report.write(out, known)
    for _, line in report.all_rows({"predict": known["predict"]}):
        print(f"predict: {line['what']}: {line['seen']} [{line['verdict']}]")
    verdicts = {line["verdict"] for _, line in report.all_rows({"predict": known["predict"]})}
    return int(FAILED in verdicts or PASSED not in verdicts)
