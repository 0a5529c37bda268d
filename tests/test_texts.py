import hypothesis.strategies as st
import pytest
from hypothesis import given

import photinus as ph
from photinus.errors import ParameterError
from photinus.testing import strategies
from photinus.texts import number_from_text, value_from_text, value_to_text


@given(st.data())
def test_text_finds_the_value_again(data):
    parameter = data.draw(strategies.parameters)
    value = data.draw(strategies.values_of(parameter))
    # Where two choices are spelt alike, such as true and "true", the text one counts.
    spelt_alike = (
        [choice for choice in parameter.values if value_to_text(choice) == value_to_text(value)]
        if isinstance(parameter, ph.Categorical)
        else [value]
    )
    found = value_from_text(parameter, value_to_text(value))
    assert any(type(found) is type(choice) and found == choice for choice in spelt_alike)
    if len(spelt_alike) == 1:
        assert (type(found), found) == (type(value), value)


def test_spellings():
    assert [value_to_text(value) for value in (None, True, False, "a b", 3, 0.1)] == [
        "null",
        "true",
        "false",
        "a b",
        "3",
        "0.1",
    ]
    choices = ph.Categorical([None, True, 2, 2.5, "x", "true"])
    assert value_from_text(choices, "true") == "true"
    assert value_from_text(choices, "TRUE") is True
    assert value_from_text(choices, "NULL") is None
    assert value_from_text(choices, "2.0") == 2
    assert value_from_text(choices, "2,5", decimal_comma=True) == 2.5
    assert value_from_text(ph.Int(0, 9), " 3.0 ") == 3
    assert value_from_text(ph.Float(0, 9), "1,5", decimal_comma=True) == 1.5


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (ph.Float(0, 1), "abc"),
        (ph.Float(0, 1), "nan"),
        (ph.Float(0, 1), "1,5"),
        (ph.Int(0, 9), "2.5"),
        (ph.Int(0, 9), ""),
        (ph.Discrete([1, 2]), "3"),
        (ph.Categorical(["a"]), "A"),
    ],
)
def test_what_does_not_fit_is_refused(parameter, text):
    with pytest.raises(ParameterError, match=r"must be .* got"):
        value_from_text(parameter, text)


def test_numbers():
    assert [number_from_text(text) for text in ("1", "-1.5e3", " 7 ", "", "x", "1_0", "0x1", "1,5")] == [
        1,
        -1500.0,
        7,
        None,
        None,
        None,
        None,
        None,
    ]
    assert number_from_text("1,5", decimal_comma=True) == 1.5
    assert number_from_text("-inf") == float("-inf")
    assert str(number_from_text("NaN")) == "nan"
