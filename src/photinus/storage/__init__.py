"""Where studies are kept."""

from photinus.storage.address import hide_password as hide_password
from photinus.storage.base import Claim as Claim
from photinus.storage.base import Draw as Draw
from photinus.storage.base import Storage as Storage
from photinus.storage.memory import MemoryStorage as MemoryStorage
from photinus.storage.opening import StorageLike as StorageLike
from photinus.storage.opening import open_storage as open_storage
from photinus.storage.opening import upgrade_storage as upgrade_storage
