"""Names of algorithms that choose other settings of the engine."""

import pytest

from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import ModelSettings
from photinus.engine.designers.constants import DEFAULT, PAPER
from photinus_bench import lockstep
from photinus_bench.ablations import Ablation
from photinus_bench.fleet import parse_algorithm
from photinus_bench.lane import Lane
from photinus_bench.tasks import Task, build


def test_without_words_a_name_is_its_preset():
    assert parse_algorithm("photinus-paper") == (PAPER, None)
    assert parse_algorithm("photinus-default") == (DEFAULT, None)


def test_words_change_settings_and_nothing_else():
    preset, ablation = parse_algorithm("photinus-paper/joint/winsorised/ucb-1.0/balls")
    changed = PAPER.settings._replace(model=ModelSettings("winsorised", "joint"), ucb_coefficient=1.0)
    assert preset == PAPER._replace(settings=changed)
    assert ablation is None
    settings = parse_algorithm("photinus-paper/log-ei/box")[0].settings
    assert settings == PAPER.settings._replace(acquisition="log_ei", region="box")


def test_every_metric_may_have_a_model_of_its_own():
    settings = parse_algorithm("photinus-paper/own-metrics")[0].settings
    assert settings == PAPER.settings._replace(model=ModelSettings(metrics="own"))
    assert parse_algorithm("photinus-paper/own-metrics/shared-metrics") == (PAPER, None)


def test_words_of_the_paper_change_nothing_and_the_last_one_wins():
    assert parse_algorithm("photinus-paper/independent/warped/ucb/balls") == (PAPER, None)
    assert parse_algorithm("photinus-paper/joint/log-ei/box/independent/ucb-1.8/balls") == (PAPER, None)


def test_points_for_exploration_and_seeds_are_the_presets_own():
    preset, ablation = parse_algorithm("photinus-paper/explore-0.25/wait-0.5/seeds-7")
    assert preset == PAPER._replace(overwrite_probability=0.25, waiting_probability=0.5, num_seeds=7)
    assert ablation is None
    assert parse_algorithm("photinus-paper/explore-0.25/explore-0.1/wait-0/wait-1.0/seeds-1") == (PAPER, None)


def test_the_search_and_where_it_goes_can_be_chosen():
    settings = parse_algorithm("photinus-paper/ascent/anywhere")[0].settings
    assert settings == PAPER.settings._replace(search=AscentSettings(), region="anywhere")
    assert parse_algorithm("photinus-paper/ascent/anywhere/firefly/balls") == (PAPER, None)
    assert parse_algorithm("photinus-default/firefly/ascent") == (DEFAULT, None)


@pytest.mark.parametrize("word", ["explore-", "explore-1.1", "wait--0.1", "wait-often", "explore-nan"])
def test_a_probability_is_a_number_up_to_1(word):
    with pytest.raises(ValueError, match=f"must be a number from 0 to 1.0, got '{word}'"):
        parse_algorithm(f"photinus-paper/{word}")


@pytest.mark.parametrize("word", ["seeds-", "seeds-1001", "seeds--1", "seeds-inf"])
def test_so_many_seeds_are_a_number_up_to_1000(word):
    with pytest.raises(ValueError, match=f"must be a number from 0 to 1000.0, got '{word}'"):
        parse_algorithm(f"photinus-paper/{word}")


def test_ablations_stand_beside_choices():
    preset, ablation = parse_algorithm("photinus-paper/no-log/joint/no-trust-region")
    assert preset.settings.model == ModelSettings(length_scales="joint")
    assert ablation == Ablation(stages_off=("no-log",), has_trust_region=False)


@pytest.mark.parametrize("word", ["ucb-", "ucb-high", "ucb--1", "ucb-nan", "ucb-inf"])
def test_a_coefficient_is_a_number_of_at_least_0(word):
    with pytest.raises(ValueError, match=f"must be a number from 0 to inf, got '{word}'"):
        parse_algorithm(f"photinus-paper/{word}")


def test_a_word_that_means_nothing_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match=r"named 'bigger': there are warped, .*, seeds-NUMBER, l-bfgs"):
        parse_algorithm("photinus-paper/bigger")


def test_parts_that_do_not_go_together_are_refused():
    preset, ablation = parse_algorithm("photinus-paper/no-log/winsorised")
    assert ablation is not None
    with pytest.raises(ValueError, match="no-log is a stage of warping: labels cannot be winsorised"):
        ablation.fit_program(preset.settings.model)
    preset, ablation = parse_algorithm("photinus-paper/l-bfgs/box")
    assert ablation is not None
    with pytest.raises(ValueError, match="cannot be combined with box"):
        ablation.pick_program(0, preset.settings)


@pytest.mark.long
@pytest.mark.parametrize("words", ["joint/winsorised/ucb-1.0/balls", "log-ei/box", "joint/no-log"])
def test_a_run_of_other_choices_is_another_run_from_the_same_beginning(words):
    def points(name: str) -> list[dict]:
        preset, ablation = parse_algorithm(name)
        lane = Lane(build(Task.parse("bbob/f01/2d"), 0), seed=3)
        for _ in lockstep.run([lane], num_trials=5, batch_size=1, preset=preset, ablation=ablation):
            pass
        return [evaluation.params for evaluation in lane.done]

    changed, papers = points(f"photinus-paper/{words}"), points("photinus-paper")
    assert changed[0] == papers[0]
    assert changed != papers
    assert changed == points(f"photinus-paper/{words}")
