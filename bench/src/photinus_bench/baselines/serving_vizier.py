"""google-vizier's server over a SQLite file: `python -m photinus_bench.baselines.serving_vizier ADDRESS PORT`.

The file is set to be written as Photinus does.
"""

import sys
import time
from typing import Any

from sqlalchemy import Engine, event
from vizier.service import servers


@event.listens_for(Engine, "connect")
def configure(connection: Any, record: object) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


if __name__ == "__main__":
    server = servers.DefaultVizierServer(host="127.0.0.1", database_url=sys.argv[1], port=int(sys.argv[2]))
    print(server.endpoint, flush=True)
    while True:
        time.sleep(3600)
