import pytest

from photinus.engine.cache import engine_context


@pytest.fixture(scope="module")
def engine():
    """Double precision for a whole test file, as the engine has it inside."""
    with engine_context():
        yield
