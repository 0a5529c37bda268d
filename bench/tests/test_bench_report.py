import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from photinus_bench import records
from photinus_bench.record import Record, RunKey
from photinus_bench.report import (
    asking,
    sections_continuous,
    sections_objectives,
    sections_parts,
    sections_spaces,
    sections_speed,
    writing,
)
from photinus_bench.report.results import Cell, Results

FUNCTIONS = ("f01", "f08", "f15", "f21")


def record(task, algorithm, repeat, truth, *, batch_size=1, **changes):
    truth = np.asarray(truth, float)
    key = RunKey(task, algorithm, repeat, 100, batch_size)
    entry = {
        "goals": {f"f{i}": "minimize" for i in range(truth.shape[1])},
        "told": truth,
        "infeasible": (),
        "seconds": np.full(len(truth), 0.5),
        "wall_s": 1.0,
        "versions": {"photinus": "0.1", "ioh": "0.3"},
        "machine": {"processor": "a processor", "cores": 2, "threads": 1, "load": 1.2},
        "started": "2030-01-02T03:04:05Z",
    }
    return Record(key=key, truth=truth, **(entry | changes))


def values(task, algorithm, repeat, halving):
    """Halves every so many trials; repeats differ a little."""
    start = 100.0 * (1 + repeat / 7 + len(task) / 50)
    return (start * 0.5 ** (np.arange(100) / halving))[:, None]


@pytest.fixture
def found():
    records = []
    speeds = {"photinus-paper": 10, "optuna-gp": 20, "ax": 5, "random": 60, "quasi-random": 50}
    for name, halving in speeds.items():
        for function in FUNCTIONS:
            for task in (f"bbob/{function}/20d", f"bbob/{function}/5d"):
                records += [record(task, name, r, values(task, name, r, halving)) for r in range(3)]
    stopped = values("bbob/f01/20d", "hebo", 0, 10)[:40]
    records.append(
        record("bbob/f01/20d", "hebo", 0, stopped, stopped="RuntimeError: not positive | definite")
    )
    rng = np.random.default_rng(0)
    for name, best in (("photinus-paper", 1.0), ("random", 2.0)):
        records += [record("zdt/1/5d/2m", name, r, best + rng.random((100, 2))) for r in range(2)]
    empty = np.empty((0, 1))
    records.append(record("combo/ising", "cma", 0, empty, unsupported="no categories", seconds=np.empty(0)))
    return {r.key: r for r in records}


def test_verdicts_follow_from_the_curves(found):
    comparisons = asking.compare_all(Results(found), asking.bbob(20), ["ax", "optuna-gp", "random"])
    assert comparisons["ax"].verdict.value == "better"
    assert comparisons["optuna-gp"].verdict.value == comparisons["random"].verdict.value == "worse"
    assert comparisons["ax"].interval.median == pytest.approx(np.log(2), abs=0.1)
    assert comparisons["ax"].num_repeats == (3, 3, 3, 3)


def test_hypervolumes_are_those_of_a_common_box(found):
    results = Results(found)
    curves = results.curves(Cell("zdt/1/5d/2m", "photinus-paper", 1, 100))
    assert sorted(curves) == [0, 1]
    assert all(0 < curve[-1] <= 1 and np.all(np.diff(curve) >= 0) for curve in curves.values())
    worse = results.curves(Cell("zdt/1/5d/2m", "random", 1, 100))
    assert max(curve[-1] for curve in worse.values()) < min(curve[-1] for curve in curves.values())


def test_runs_that_stopped_are_extended_and_named(found):
    results = Results(found)
    curve = results.curves(Cell("bbob/f01/20d", "hebo", 1, 100))[0]
    assert len(curve) == 100 and curve[-1] == curve[39]
    assert np.isnan(results.seconds(Cell("bbob/f01/20d", "hebo", 1, 100))[0, 40:]).all()
    assert list(results.stops()) == ["hebo"]


def test_studies_side_by_side_have_no_seconds_of_their_own(found):
    task = "bbob/f01/20d"
    key = RunKey(task, "photinus-default", 0, 100, 1)
    together = record(task, "photinus-default", 0, values(task, "", 0, 9), side_by_side=480)
    results = Results(found | {key: together})
    assert results.speed([task], "photinus-default") is None
    assert results.speed([task], "ax").median == 0.5


def test_the_pages_are_whole_and_the_same_again(found, tmp_path):
    for name in ("one", "two"):
        writing.write(Results(found), tmp_path / "none", tmp_path / name, tmp_path / name / "page.html")
    text = (tmp_path / "one/benchmarks.md").read_text()
    assert "| ax | +0.6" in text and "| better |" in text
    assert "hebo | 1 | 1 | 40 | bbob/f01/20d | RuntimeError: not positive / definite" in text
    assert "cma cannot search combo/ising: no categories" in text
    assert "Not run yet: `make bench SUITE=noisy`." in text
    links = re.findall(r"\(images/benchmarks/([\w-]+)\.svg\)", text)
    assert links and all((tmp_path / f"one/images/benchmarks/{link}.svg").exists() for link in links)
    page = (tmp_path / "one/page.html").read_text()
    assert page.count("data:image/svg+xml") == len(links) and "images/benchmarks" not in page
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_beside_each_claim_stands_what_was_found(found, tmp_path):
    writing.write(Results(found), tmp_path / "none", tmp_path, tmp_path / "pages" / "page.html")
    text = (tmp_path / "benchmarks.md").read_text()
    verdicts = (
        "against `photinus-paper`, better: ax; worse: optuna-gp, quasi-random and random; undecided: hebo."
    )
    claim, said = text.split("## Continuous spaces at 20 dimensions")[1].strip().split("\n\n")[:2]
    assert claim.startswith("> The paper: ") and said == f"**Found:** {verdicts}"
    eight = text.split("## Eight functions")[1].split("## ")[0]
    assert "not tested): ax on 4 of 4 (3), hebo on 0 of 1 (1), optuna-gp on 0 of 4 (3), " in eight
    dimensions = text.split("## Dimensions 5 to 80")[1].split("## ")[0]
    assert "; optuna-gp worse at 5 and 20;" in dimensions and "hebo undecided" not in dimensions.split("|")[0]
    # No claim, no finding; no records, no finding.
    for title in ("Integer and discrete parameters", "Seconds per suggestion", "Noisy objectives"):
        assert "**Found:**" not in text.split(f"## {title}")[1].split("## ")[0]
    assert text.count("**Found:**") >= 5
    fronts = text.split("## Two objectives")[1].split("## ")[0]
    assert "Stopped early: nobody. HEBO was run on 0 of the 21 problems." in fronts


def test_links_of_the_single_page_lead_to_the_folder_of_the_docs(found, tmp_path):
    docs, page = tmp_path / "docs", tmp_path / "results" / "page.html"
    (docs / "decisions").mkdir(parents=True)
    (docs / "decisions" / "0010-the-default.md").touch()
    for r in range(2):
        run = record("bbob/f01/20d", "photinus-default", r, values("", "", r, 9))
        found[run.key] = run
    writing.write(Results(found), tmp_path / "none", docs, page)
    text = page.read_text()
    links = re.findall(r'href="([^"#]+)', text)
    assert links and all((page.parent / link).exists() for link in links)
    places = re.findall(r'href="#([^"]+)', text)
    assert places and all(f'id="{place}"' in text for place in places)


def table_row(text, first):
    """Cells of the table's row that begins so."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_default_has_its_halves_apart_and_is_compared_with_everyone(found):
    """Twice as quick as `paper` on functions of even number, by which it was chosen, and as quick on the others."""
    for task in (f"bbob/{function}/20d" for function in FUNCTIONS):
        halving = 5 if task == "bbob/f08/20d" else 10
        for r in range(2):
            run = record(task, "photinus-default", r, values(task, "photinus-default", r, halving))
            found[run.key] = run
    paper, rivals = (section.text for section in writing.all_sections(Results(found), Path("none"))[:2])
    row = table_row(paper[-1], "20 continuous parameters")
    assert row[1].startswith("+0.00 (+0.00 to +0.6") and row[2] == "not losing"
    assert row[3].startswith("+0.6") and row[4] == "+0.00 (+0.00 to +0.00)" and row[6:] == ["4", "2"]
    assert "5 continuous parameters" not in paper[-1] and "COMBO" not in paper[-1]
    assert rivals[1].endswith("Stopped early: hebo (1 run).")
    slower, quicker = (table_row(rivals[-1], name) for name in ("optuna-gp", "ax"))
    assert slower[2].startswith("+0.6") and slower[2].endswith("better; 4 x 2")
    assert quicker[2].startswith("-0.6") and quicker[2].endswith("undecided; 4 x 2")
    assert slower[1] == "" and not any("photinus" in line.split("|")[1] for line in rivals[-1].splitlines())


def test_that_google_vizier_is_apart_from_paper_is_said_where_it_is(found):
    for name, halving in (("vizier", 10), ("vizier-gp-bandit", 5)):
        for task in (f"bbob/{function}/20d" for function in FUNCTIONS):
            run = record(task, name, 0, values(task, name, 0, halving))
            found[run.key] = run
        text = "\n".join(sections_continuous.google_vizier(Results(found)).text)
        is_apart = "does not hold it. Runs as few as these decide nothing" in text
        assert is_apart == (name == "vizier-gp-bandit")
    assert "That of vizier-gp-bandit does not hold it." in text


def test_noise_is_judged_model_by_model_and_against_random_search(found):
    rng = np.random.default_rng(0)
    for function in FUNCTIONS:
        for task, halving in (
            (f"bbob/{function}/20d/gaussian-noise", 60),
            (f"bbob/{function}/20d/cauchy-noise", 10),
        ):
            for r in range(3):
                for name in ("photinus-paper", "photinus-default", "random"):
                    curve = values(task, name, r, 60 if name == "random" else halving) * rng.uniform(0.9, 1.1)
                    run = record(task, name, r, curve)
                    found[run.key] = run
        for r in range(3):
            task = f"bbob/{function}/20d"
            run = record(task, "photinus-default", r, values(task, "", r, 5))
            found[run.key] = run
    section = sections_continuous.noise(Results(found))
    row = table_row(section.text[-1], "photinus-paper against random")
    assert [cell.rsplit(",", 1)[-1].split(";")[0].strip() for cell in row[1:]] == [
        "better",
        "undecided",
        "",
        "better",
    ]
    assert section.found.startswith(
        "photinus-paper against random better with no noise and Cauchy noise, undecided with Gaussian noise;"
    )
    assert section.found.endswith("No rival ran.")


def test_problems_that_begin_on_the_front_are_left_out_beside_the_whole(found):
    rng = np.random.default_rng(0)
    for task in ("dtlz/1/5d/2m", "dtlz/7/5d/2m", "zdt/4/5d/2m"):
        for name, best in (("photinus-paper", 1.0), ("random", 2.0)):
            for r in range(2):
                run = record(task, name, r, best + rng.random((100, 2)))
                found[run.key] = run
    section = sections_objectives.two_objectives(Results(found))
    counts = [table_row(text, "random")[4] for text in section.text if text.startswith("| algorithm")]
    assert counts == ["4", "4", "2", "2"]


def test_rivals_from_several_environments_are_named(found):
    keys = [key for key in found if key.algorithm == "ax"]
    for i, key in enumerate(keys):
        torch = "2.11" if i == 0 else "2.13"
        found[key] = replace(found[key], versions={"python": "3.11", "torch": torch, "ioh": str(i)})
    [sentence] = writing.several_environments(Results(found))
    assert sentence == f"Of ax there are 1 runs with torch 2.11 and {len(keys) - 1} runs with torch 2.13."


def test_ax_with_another_acquisition_is_compared_with_ax(found):
    for function in FUNCTIONS:
        for r in range(3):
            task = f"bbob/{function}/20d"
            run = record(task, "ax-ucb", r, values(task, "ax-ucb", r, 10))
            found[run.key] = run
    section = sections_continuous.ax_ucb(Results(found))
    assert (
        section.found.startswith("ax-ucb against ax -0.6")
        and "worse, on 4 functions, repeats 3" in section.found
    )


def test_deviations_of_ax_with_either_acquisition_are_over_the_same_repeats(found):
    for function in FUNCTIONS:
        task = f"bbob/{function}/20d"
        run = record(task, "ax-ucb", 0, values(task, "ax-ucb", 0, 5))
        found[run.key] = run
        for r in (1, 2):  # of these there is none with the other acquisition
            other = record(task, "ax", r, values(task, "ax", r, 90 if function == "f08" else 2))
            found[other.key] = other
    # Scores on the first repeats hardly differ: both need half of the baseline's trials on all functions.
    said = sections_continuous.ax_ucb(Results(found)).found
    assert "on the repeats that both have, is 0.0" in said and " and 0.0" in said
    assert said.endswith("for ax (not tested).")


def test_lock_step_says_what_all_studies_took(found):
    key = RunKey("bbob/f01/20d", "photinus-paper", 0, 100, 1)
    together = replace(
        found[key], side_by_side=480, wall_s=0.22, machine=found[key].machine | {"gpu": "a card"}
    )
    text = sections_speed.seconds(Results(found | {key: together})).text[-1]
    assert text.startswith(
        "In lock-step on one a card, 480 studies of `photinus-paper` with 100 trials each took 106 s in all, compiling "
        "included, on 2030-01-02."
    )
    assert "photinus_bench.lockstep_suite bbob-20d --algorithms photinus-paper --records EMPTY" in text


def test_firefly_and_l_bfgs_meet_at_equal_seconds():
    rows = [
        {"search": search, "trust_region": False, "budget": budget, "counted_s": seconds, "score": score}
        for search, ends in (("firefly", [(0.01, 0.5), (0.04, 0.6)]), ("lbfgs", [(0.02, 0.4), (0.03, 0.7)]))
        for budget, (seconds, score) in enumerate(ends)
    ]
    rows += [row | {"trust_region": True} for row in rows]
    study = {"rows": rows, "task": "bbob/f15/20d", "num_trials": 40}
    found = sections_parts.acquisition({"acquisition": study}).found
    assert found.startswith("in the median of 1 seeds (not tested) at its largest budget, ")
    assert found.endswith("firefly ahead at 0.020 s, L-BFGS ahead at 0.030 and 0.040 s.")


def test_a_curve_against_seconds_ends_when_its_runs_do(found):
    ((_, caption, figure),) = sections_speed.quality_per_minute(Results(found)).figures
    spans = {line.get_label(): line.get_xdata() for line in figure.axes[0].get_lines()}
    # Half a second for each of a hundred suggestions, of which one algorithm asked for forty.
    assert {name: (x[0], x[-1]) for name, x in spans.items()} == {
        name: (0.5, 20.0 if name == "hebo" else 50.0) for name in spans
    }
    assert "the whole seconds spent on suggestions" in caption


def test_after_so_many_seconds_everyone_is_compared_with_the_end_of_the_default(found):
    tasks = [f"bbob/{function}/20d" for function in FUNCTIONS]
    for i, task in enumerate(tasks):
        for r in range(2):  # one second a suggestion; ends where it began divided by 2^9.9
            run = record(task, "photinus-default", r, values(task, "", r, 10), seconds=np.ones(100))
            found[run.key] = run
            changes = {"side_by_side": 9} if r else {}
            run = record(task, "vizier", r, values(task, "", r, 10), seconds=np.full(100, 40.0), **changes)
            found[run.key] = run
        ablation = record(task, "photinus-paper/no-log", 0, values(task, "", 0, 10))
        late = record(task, "smac", 0, values(task, "", 0, 10), seconds=np.full(100, 5.0 if i else 200.0))
        found |= {ablation.key: ablation, late.key: late}
    text = sections_speed.quality_per_minute(Results(found)).text
    assert "|".join(table_row(text[1], "photinus-default")) == (
        "photinus-default|960 (960 to 960)|510 (510 to 510)|16 (16 to 16)|1.0 (1.0 to 1.0)|4 x 2"
    )
    # Its run beside others does not count, and its first suggestion takes more than ten seconds.
    first, tenth, minute, *rest = table_row(text[1], "vizier")[1:]
    assert first == tenth == "" and minute.startswith("960") and rest[-1] == "4 x 1"
    assert table_row(text[1], "smac")[2].endswith(" to ∞)")
    assert "no-log" not in text[1] and table_row(text[1], "hebo")[-1] == "1 x 1"


def test_optima_that_were_found_and_runs_without_a_value_leave_the_table_whole(found):
    task = "bbob/f01/20d"
    infeasible = np.where(np.arange(100) < 50, np.nan, 1.0)[:, None]
    for name, truth in (("photinus-default", np.zeros((100, 1))), ("cma", infeasible)):
        run = record(task, name, 0, truth)
        found[run.key] = run
    row = table_row(sections_speed.quality_per_minute(Results(found)).text[1], "cma")
    assert row == ["cma", "", "", "1e+08 (1e+08 to 1e+08)", "1e+08 (1e+08 to 1e+08)", "1 x 1"]


def test_quasi_random_stands_beside_what_google_viziers_comparator_says(found):
    table = sections_parts.halton_random(Results(found)).text[-1]
    row = table_row(table, "quasi-random, 20-D")
    assert table.splitlines()[0].endswith("by google-vizier's comparator |") and row[-1].startswith("+0.")


def history_study(seconds, **machine):
    """Of latency, from seconds by algorithm and number of trials."""
    rows = [{"algorithm": a, "num_trials": n, "seconds": each} for (a, n), each in seconds.items()]
    return {"machine": {"processor": "a processor", "cores": 16, "load": 4.0} | machine, "rows": rows}


def test_latency_has_a_curve_for_each_algorithm_and_device():
    same = [0.2, 0.1, 0.4]
    both = {(a, n): same for a in ("paper", "default") for n in (10, 20)}
    studies = {
        "history-cpu": history_study(both, load=1.5, cores=2),
        "history-gpu": history_study({("paper", 10): same, ("paper", 20): same}, gpu="a card"),
    }
    section = sections_parts.latency(studies)
    seconds = "0.200 (0.100 to 0.400)"
    for n in (10, 20):
        assert f"| default | cpu | a processor | 1.5 of 2 | {n} | {seconds} |" in section.text[0]
        assert f"| paper | gpu | a card | 4 of 16 | {n} | {seconds} |" in section.text[0]
    assert section.found == (
        "for one study at a time the GPU is, by intervals that are apart, with `paper` neither quicker nor slower; 4 "
        "of the 16 cores beside it were busy."
    )
    ((_, _, figure),) = section.figures
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "paper, cpu",
        "default, cpu",
        "paper, gpu",
    ]


def test_a_gpu_is_quicker_or_slower_where_intervals_are_apart():
    short, long = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
    cpu = {("paper", 10): short, ("paper", 20): long, ("paper", 30): short}
    gpu = {("paper", 10): long, ("paper", 20): short, ("paper", 30): short}
    studies = {"history-cpu": history_study(cpu), "history-gpu": history_study(gpu, gpu="a card")}
    found = sections_parts.latency(studies).found
    assert "with `paper` quicker after 20 trials, slower after 10 trials; 4 of the 16 cores" in found


def test_latency_alone_has_everyone_beside_the_ratio_to_optuna():
    cells = [
        {"setting": "20 floats", "num_trials": n, "answers": answers, "floor_s": None}
        for n, answers in (
            (100, {"default": {"seconds": [0.02, 0.03, 0.9]}, "optuna+greenlet": {"seconds": [0.12]}}),
            (10_000, {"default": {"seconds": [0.5]}, "optuna+greenlet": {"outcome": "too slow"}}),
        )
    ]
    first = {"num_trials": 10, "num_parameters": 20, "cache": "empty", "total_s": 3.0, "beyond_jax_s": 1.6}
    study = {
        "machine": {"processor": "a processor", "cores": 2, "load": 0.1},
        "settings": {
            "contestants": ["default", "ax"],
            "num_trials": [100, 10_000],
            "num_parameters": [20],
            "repeats": 3,
        },
        "cells": cells,
        "cold": [first | {"peak_mb": 300.4}],
    }
    section = sections_speed.alone({"latency": study})
    assert section.text[0].splitlines()[2:] == [
        "| 20 floats | 100 | 0.030 (0.020 to 0.900) | 0.120 | 0.25 |",
        "| 20 floats | 10000 | 0.500 | too slow |  |",
    ]
    assert "empty cache: 1.60 s beyond `import jax`, at most 300 MB" in section.text[1]
    options = "--contestants default ax --trials 100 10000 --parameters 20 --repeats 3"
    assert f"photinus_bench.latency {options} --out" in section.command
    assert sections_speed.alone({}).is_empty


def test_answers_that_came_too_late_are_apart_from_errors(found):
    for r, words in enumerate(
        ("no answer within 120 s", "RuntimeError: no", "RuntimeError: never", "no answer within 120 s")
    ):
        run = record("combo/ising", "bayesopt", r, values("", "", r, 10)[: 20 + r], stopped=words)
        found[run.key] = run
    text = sections_speed.early_ends(Results(found)).text
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text[1].splitlines()]
    assert [row for row in rows if row[0] == "bayesopt"] == [
        ["bayesopt", "2", "4", "21 to 22", "combo/ising", "RuntimeError: no"],
        ["bayesopt", "2", "4", "20 to 23", "combo/ising", "no answer within 120 s"],
    ]
    assert "the runner's limit (1800 s unless a run is made with another" in text[0]


def test_final_gaps_have_intervals_where_there_are_several_repeats(found):
    for r in range(2):
        run = record("bbob/f01/20d", "smac", r, np.full((100, 1), 1.0 + r))
        found[run.key] = run
    table = sections_continuous.single_functions(Results(found)).text[-1]
    assert table_row(table, "smac (0 to 2)")[1:] == ["1.5 (1 to 2)", *[""] * 7]
    assert table_row(table, "hebo (0 to 1)")[1] == f"{values('bbob/f01/20d', 'hebo', 0, 10)[39, 0]:.3g}"


def test_integers_and_lists_are_named_and_so_is_that_no_rival_ran(found):
    for kind in ("integer", "discrete"):
        for name in ("photinus-paper", "random"):
            task = f"bbob/f01/20d/{kind}"
            run = record(task, name, 0, values(task, name, 0, 9))
            found[run.key] = run
    text = sections_spaces.integers(Results(found)).text
    assert [line for line in text if not line.startswith("|")] == [
        "Whole numbers of 2 to 16 levels:",
        "Lists of numbers of 2 to 16 levels:",
        "No rival with a model ran here.",
    ]


def test_more_objectives_are_also_measured_at_the_true_nadir(found):
    rng = np.random.default_rng(0)
    for m in (2, 3):
        for name, best in (("photinus-paper", 0.8), ("random", 0.9)):
            for r in range(2):
                run = record(f"dtlz/2/{m + 3}d/{m}m", name, r, best + rng.random((100, m)))
                found[run.key] = run
    text = sections_objectives.number_of_objectives(Results(found)).text
    tables = [part for part in text if part.startswith("|")]
    assert len(tables) == 2 and "The same with hypervolumes at the true nadir point:" in text
    assert all(all(table_row(table, "random")) for table in tables) and tables[0] != tables[1]


def test_if_nobody_stopped_that_is_said(found):
    whole = {key: record for key, record in found.items() if not record.stopped and not record.unsupported}
    assert sections_speed.early_ends(Results(whole)).text == [
        "Nobody so far: every run has as many trials as it should."
    ]
    assert sections_speed.early_ends(Results({})).is_empty


def test_the_page_in_the_repository_is_made_from_its_records_by_this_code():
    page = (writing.ROOT / "docs" / "benchmarks.md").read_text()
    # If this fails: `make bench-report`, and commit what it wrote.
    assert page.startswith(f"<!-- made from {writing.digest(records.FOLDER)} -->")


def test_without_records_every_section_says_what_to_run(tmp_path):
    writing.write(Results({}), tmp_path, tmp_path, tmp_path / "page.html")
    text = (tmp_path / "benchmarks.md").read_text()
    assert text.count("Not run yet: ") >= 15
