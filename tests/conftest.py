"""How hard Hypothesis tries: DECIDUOUS_HYPOTHESIS_PROFILE=long runs for many times as long."""

import os

from hypothesis import HealthCheck, settings

# The examples are whole forests, so Hypothesis' limits on time and size do not fit them.
COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("default", max_examples=150, stateful_step_count=15, **COMMON)
settings.register_profile("long", max_examples=5000, stateful_step_count=40, **COMMON)
settings.load_profile(os.environ.get("DECIDUOUS_HYPOTHESIS_PROFILE", "default"))
