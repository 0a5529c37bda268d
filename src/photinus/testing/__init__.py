"""Contracts that every store, back end and algorithm must pass, and Hypothesis strategies; needs pytest.

class TestMyStorage(StorageContract):
    @pytest.fixture
    def make_storage(self):
        return lambda clock: MyStorage(clock=clock)
"""

import pytest

pytest.register_assert_rewrite(
    "photinus.testing.designer",
    "photinus.testing.storage",
    "photinus.testing.store_requests",
    "photinus.testing.store_views",
    "photinus.testing.study",
)

from photinus.testing.designer import DesignerContract as DesignerContract  # noqa: E402
from photinus.testing.storage import StorageContract as StorageContract  # noqa: E402
from photinus.testing.study import StudyContract as StudyContract  # noqa: E402
