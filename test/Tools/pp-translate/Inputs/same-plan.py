"""Fails unless two plans in JSON have the same stages, order, microbatches, planned time and lower bounds."""

import json
import sys

first, second = (json.load(open(name)) for name in sys.argv[1:])
for field in ("stages", "order", "microbatches", "time_s", "lower_bound_plan_s", "lower_bound_family_s"):
    assert first[field] == second[field], (field, first[field], second[field])
