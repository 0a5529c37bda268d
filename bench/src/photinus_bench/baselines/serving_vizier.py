"""google-vizier's server over a SQLite file: `python -m photinus_bench.baselines.serving_vizier ADDRESS PORT`."""

import sys
import time

from vizier.service import servers

if __name__ == "__main__":
    server = servers.DefaultVizierServer(host="127.0.0.1", database_url=sys.argv[1], port=int(sys.argv[2]))
    print(server.endpoint, flush=True)
    while True:
        time.sleep(3600)
