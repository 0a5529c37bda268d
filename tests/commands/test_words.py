import pytest

from photinus.commands import check_words, substitute
from photinus.errors import ArgumentError

PARAMETERS = ["lr", "model.depth", "use bias"]


def test_values_take_the_place_of_names():
    words = ["train", "--lr={lr}", "{use bias}", "{model.depth}x{model.depth}", "plain"]
    params = {"lr": 0.1 + 0.2, "model.depth": 3, "use bias": False}
    assert check_words(words, PARAMETERS) == set(PARAMETERS)
    assert substitute(words, 7, params) == ["train", "--lr=0.30000000000000004", "false", "3x3", "plain"]


def test_braces_and_the_trials_number():
    words = ['{{"lr": {lr}}}', "run-{trial}", "{{lr}}"]
    assert check_words(words, ["lr"]) == {"lr", "trial"}
    assert substitute(words, 7, {"lr": 0.5}) == ['{"lr": 0.5}', "run-7", "{lr}"]


def test_a_parameter_called_trial_is_the_parameter():
    assert substitute(["{trial}"], 7, {"trial": "first"}) == ["first"]


def test_values_are_not_looked_into():
    assert substitute(["{a}"], 0, {"a": "{b} $(rm) {{"}) == ["{b} $(rm) {{"]


def test_none_and_text():
    assert substitute(["{a}", "{b}", "{c}"], 0, {"a": None, "b": "x y", "c": True}) == ["null", "x y", "true"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "{rate}",
            r"\{rate\} in '\{rate\}' of the command is no parameter: there are lr, .*write \{\{rate\}\}",
        ),
        ("{}", r"\{\} in '\{\}' of the command is no parameter"),
        ("a{", r"`\{` stands alone in 'a\{' of the command: write `\{\{`"),
        ("a}", r"`\}` stands alone"),
        ("{lr", r"`\{` stands alone"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(word, message):
    with pytest.raises(ArgumentError, match=message):
        check_words(["python", word], PARAMETERS)
