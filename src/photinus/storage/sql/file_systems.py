"""Which file system a file is on: SQLite's locks and shared memory work within one host only."""

import os
from pathlib import Path

from photinus.errors import StorageError

MOUNTS = Path("/proc/self/mountinfo")  # Linux; elsewhere nothing is known and nothing is refused
# Those on which several hosts may write one file, or on which locks and memory maps are known to be unreliable.
NETWORK_FILE_SYSTEMS = frozenset(
    ("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre")
) | frozenset(
    ("ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb2", "smb3", "smbfs", "wekafs")
)
NETWORK_FUSE = frozenset(
    ("ceph", "ceph-fuse", "davfs", "gcsfuse", "glusterfs", "goofys", "juicefs", "moosefs")
) | frozenset(("mountpoint-s3", "rclone", "s3fs", "seaweedfs", "sshfs"))


def refuse_network(path: str) -> None:
    """Refuse a database file that lies on a network file system."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    kind = file_system(os.path.realpath(path), mounts)
    fuse, _, program = kind.partition(".")
    if kind in NETWORK_FILE_SYSTEMS or (fuse == "fuse" and program in NETWORK_FUSE):
        raise StorageError(
            f"a SQLite store must be on a local disk, but {path!r} is on a network file system ({kind}), where "
            "locks do not work and data gets lost: choose another path, or PostgreSQL for several hosts"
        )


def file_system(path: str, mounts: str) -> str:
    """The type of the file system that holds an absolute path, by the text of /proc/self/mountinfo."""
    best, found = -1, ""
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        point = _unescape(fields.split(" ")[4])
        prefix = point.rstrip("/") + "/"
        # Of two mounts on one point the later one is in front.
        if (path + "/").startswith(prefix) and len(prefix) >= best:
            best, found = len(prefix), source.split(" ")[0]
    return found


def _unescape(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field
