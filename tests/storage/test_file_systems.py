import pytest

from photinus.errors import StorageError
from photinus.storage.sql import SqlStorage, file_systems

MOUNTS = """\
22 28 0:20 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 28 0:40 / /home/me rw - nfs4 server:/home rw,vers=4.2
41 40 0:41 / /home/me/scratch rw - xfs /dev/sdb1 rw
42 28 0:42 / /mnt/two\\040words rw - cifs //server/share rw
43 28 0:43 / /mnt/remote rw - fuse.sshfs me@host: rw
44 28 0:44 / /mnt/encrypted rw - fuse.gocryptfs /x rw
45 28 0:45 / /tmp rw - tmpfs tmpfs rw
46 28 0:46 / /mnt/stacked rw - nfs server:/x rw
47 28 0:47 / /mnt/stacked rw - ext4 /dev/sdc rw
48 28 0:48 / /mnt/container rw master:1 - overlay overlay rw,lowerdir=/a
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/x.db", "ext4"),
        ("/home/x.db", "ext4"),
        ("/home/me/x.db", "nfs4"),
        ("/home/meadow/x.db", "ext4"),
        ("/home/me/scratch/a/x.db", "xfs"),
        ("/mnt/two words/x.db", "cifs"),
        ("/mnt/stacked/x.db", "ext4"),
        ("/mnt/container/x.db", "overlay"),
    ],
)
def test_the_innermost_mount_holds_a_file(path, kind):
    assert file_systems.file_system(path, MOUNTS) == kind


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Let the test's directory be on a file system of some type, as the kernel would tell it."""

    def mount(kind):
        mounts = tmp_path / "mountinfo"
        mounts.write_text(f"{MOUNTS}50 28 0:50 / {tmp_path} rw - {kind} source rw\n")
        monkeypatch.setattr(file_systems, "MOUNTS", mounts)

    return mount


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "lustre", "ceph", "fuse.sshfs"])
def test_network_file_systems_are_refused(mounted, tmp_path, kind):
    mounted(kind)
    with pytest.raises(StorageError, match=rf"local disk, but .* network file system \({kind}\).*PostgreSQL"):
        SqlStorage(str(tmp_path / "store.db"))
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuse.gocryptfs"])
def test_local_file_systems_are_not(mounted, tmp_path, kind):
    mounted(kind)
    assert SqlStorage(str(tmp_path / "store.db")).list_studies() == []


def test_a_link_is_followed(mounted, tmp_path, tmp_path_factory):
    mounted("nfs")
    link = tmp_path_factory.mktemp("local") / "link.db"
    link.symlink_to(tmp_path / "store.db")
    with pytest.raises(StorageError, match="network file system"):
        SqlStorage(str(link))


def test_where_the_kernel_tells_nothing_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "absent")
    assert SqlStorage(str(tmp_path / "store.db")).list_studies() == []
