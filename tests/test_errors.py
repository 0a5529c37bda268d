import inspect
import pickle

import pytest

from photinus import errors

TREE = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}


@pytest.mark.parametrize("kind", TREE.values(), ids=TREE)
def test_every_error_is_ours_and_fits_a_builtin(kind):
    assert issubclass(kind, errors.PhotinusError)
    if kind is not errors.PhotinusError:
        builtins = (ValueError, LookupError, RuntimeError, ImportError, OSError)
        assert issubclass(kind, builtins)


@pytest.mark.parametrize("kind", TREE.values(), ids=TREE)
def test_every_error_keeps_its_message_when_pickled(kind):
    error = pickle.loads(pickle.dumps(kind("what is wrong")))
    assert type(error) is kind
    assert str(error) == "what is wrong"


def test_the_drawn_tree_is_the_real_one():
    assert errors.__doc__ is not None
    drawn, branch = {}, ""
    for line in errors.__doc__.splitlines():
        if "── " not in line:
            continue
        name, builtin, *_ = line.split("── ")[1].split()
        if line.lstrip().startswith("│"):
            drawn[name] = (branch,)
        else:
            branch = name
            drawn[name] = ("PhotinusError", builtin.strip("()"))
    real = {name: tuple(base.__name__ for base in kind.__bases__) for name, kind in TREE.items()}
    assert drawn == {name: bases for name, bases in real.items() if name != "PhotinusError"}
