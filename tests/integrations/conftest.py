"""What Ray reads when it is imported, which must not happen before."""

import os

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray asks nobody who they are, so its ports must not be open to the network: without clusters of several machines,
    # it keeps to the loopback address. Several nodes on one machine are still possible.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Its workers are nice to others (15): beside busy tests of the same session they would take minutes to start.
    "RAY_worker_niceness": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # its future default, or it warns
}
