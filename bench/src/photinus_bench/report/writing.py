"""Write the report: `python -m photinus_bench.report.writing`, or `make bench-report`.

Makes `docs/benchmarks.md` with its figures under `docs/images/benchmarks/`, and one HTML page that holds them all. Runs
nothing: everything is in the records.
"""

import argparse
import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import markdown

from photinus_bench import records
from photinus_bench.analysis.comparison import FEWEST_RUNS
from photinus_bench.report import (
    drawing,
    sections_continuous,
    sections_default,
    sections_objectives,
    sections_parts,
    sections_spaces,
    sections_speed,
)
from photinus_bench.report.asking import WITH_MODELS
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section

OF_PROBLEMS = ("ioh", "optproblems")  # packages of the problems, which not all need
PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.parents[2]
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
img { max-width: 100%; height: auto } table { border-collapse: collapse; display: block; overflow-x: auto }
td, th { border: 1px solid #ccc; padding: 0.2rem 0.6rem; text-align: left } blockquote { border-left: 4px solid #bbb;
margin-left: 0; padding-left: 1rem; color: #555 } code { background: #f2f2f2; padding: 0 0.2rem }
"""


def all_sections(results: Results, folder: Path) -> list[Section]:
    """The whole report: the default, all else in the paper's order, then what the paper does not show."""
    studies = sections_parts.read_studies(folder)
    return [
        sections_default.against_paper(results),
        sections_default.against_rivals(results),
        sections_continuous.violins(results),
        sections_continuous.dimensions(results),
        sections_continuous.single_functions(results),
        sections_spaces.combo(results),
        sections_spaces.categorical_share(results),
        sections_spaces.batches(results),
        sections_objectives.two_objectives(results),
        sections_objectives.number_of_objectives(results),
        sections_parts.acquisition(studies),
        sections_parts.lunacek(results),
        sections_parts.latency(studies),
        sections_continuous.ax_ucb(results),
        sections_continuous.noise(results),
        sections_parts.warping_stages(results),
        sections_parts.halton_random(results),
        sections_spaces.integers(results),
        sections_speed.seconds(results),
        sections_speed.alone(studies),
        sections_speed.quality_per_minute(results),
        sections_continuous.google_vizier(results),
        sections_speed.early_ends(results),
    ]


def introduction(results: Results) -> str:
    """How to read the report, and what stands behind it."""
    found = results.records
    versions: dict[str, set[str]] = {}
    for record in found:
        for package, number in record.versions.items():
            versions.setdefault(package, set()).add(number)
    machines = sorted({record.machine.get("gpu") or record.machine["processor"] for record in found})
    days = sorted(record.started[:10] for record in found)
    span = f"{_day(days[0])} to {_day(days[-1])}" if days else "no day yet"
    listed = ", ".join(f"{name} {'/'.join(sorted(numbers))}" for name, numbers in sorted(versions.items()))
    return "\n\n".join(
        [
            "# Benchmarks",
            "Every experiment of the paper, run again with Photinus and today's releases of its rivals in their "
            "default settings (`ax-ucb` apart, which is Ax with the paper's acquisition). Made by `make bench-report` "
            "from the records in `bench/records`. Each section names the command behind its records: `make bench` runs "
            'what is missing, and with `ARGS="--repeats 30 --algorithms ax hebo"` more repeats of these two than its '
            "suite asks for; the studies that are no runs, of the acquisition's search and of latency, are made "
            "anew.",
            "**Log-efficiency** says how many times fewer trials an algorithm needs than another, `photinus-paper` "
            "where nothing else is said, as a natural logarithm: 0.7 means half as many, -0.7 twice as many. Scores of "
            "a problem are clipped at 2, so +2.00 stands for 7.4 times and more. Intervals are 95 %, by a "
            "bootstrap over problems and then repeats. *better* and *worse* are said where an interval allows it; "
            "*not losing* where its lower end is above -0.1; everything else is *undecided*, and so is what fewer "
            f"than {FEWEST_RUNS} runs say. *24 x 5* stands for 24 problems with 5 repeats each; where an algorithm has "
            "one repeat, its interval leaves out how repeats differ. Each interval stands for itself: of twenty, one "
            "may be wrong. A cell is empty where an algorithm was not run; who cannot search a kind of space is named "
            "under [early ends](#who-stopped-early-and-who-could-not-begin).",
            "BBOB's functions have their least value, 0, at a random place inside the box, with these exceptions: the "
            "linear slope (f05) is 0 from there to a corner of the box, the steps (f07) on a small plateau, the "
            "periodic functions (f16, f23) at further places; above 64 dimensions f19 has it a few tenths away from "
            "there. Elsewhere than on BBOB and COMBO nothing is shifted, so repeats differ by seed alone.",
            f"There are {len(found)} runs, from {span}, on: {'; '.join(machines) or 'nothing'}. Versions: {listed}."
            + "".join(f" {text}" for text in several_environments(results)),
        ]
    )


def several_environments(results: Results) -> list[str]:
    """Rivals whose runs were made with different versions, and with which."""
    sentences = []
    for name in WITH_MODELS:
        sets = Counter(
            tuple(sorted(each for each in record.versions.items() if each[0] not in OF_PROBLEMS))
            for record in results.records
            if record.key.algorithm == name
        )
        shared = set.intersection(*map(set, sets)) if sets else set()
        if len(sets) > 1:
            parts = [
                f"{count} runs with {', '.join(' '.join(each) for each in versions if each not in shared)}"
                for versions, count in sorted(sets.items())
            ]
            sentences.append(f"Of {name} there are {' and '.join(parts)}.")
    return sentences


def _day(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%-d %B %Y")


def to_markdown(sections: Sequence[Section], introduction: str, images: str) -> str:
    """The page, with figures as links."""
    parts = [introduction]
    for section in sections:
        parts.append(f"## {section.title}")
        if section.claim:
            parts.append(f"> The paper: {section.claim}")
        if section.found and section.claim:
            parts.append(f"**Found:** {section.found}")
        if section.is_empty:
            parts.append(f"Not run yet: `{section.command}`.")
            continue
        parts += [f"![{caption}]({images}/{name}.svg)\n\n*{caption}*" for name, caption, _ in section.figures]
        parts += section.text
        parts.append(f"Records: `{section.command}`")
    return "\n\n".join(parts) + "\n"


def to_html(text: str, figures: dict[str, str], docs: str) -> str:
    """One page without any other file; its links to other pages go to the folder `docs`, seen from there."""
    body = markdown.markdown(text, extensions=["tables", "toc"])
    body = re.sub(r'href="(?![a-z]+:|#)', f'href="{docs}/', body)

    def inline(match: re.Match[str]) -> str:
        data = base64.b64encode(figures[match[1]].encode()).decode()
        return f'src="data:image/svg+xml;base64,{data}"'

    body = re.sub(r'src="[^"]*/([\w-]+)\.svg"', inline, body)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Photinus: benchmarks</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>{body}</body></html>\n'
    )


def digest(folder: Path) -> str:
    """Of everything that the pages are made from: compacted records, studies, measures and the report's own code."""
    sources = [*folder.glob(f"*/*{records.ARCHIVE}"), *folder.glob("*.json")]
    sources += [
        path for package in (PACKAGE / "report", PACKAGE / "analysis") for path in package.glob("*.py")
    ]
    found = hashlib.sha256()
    for path in sorted(sources):
        found.update(path.name.encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def write(results: Results, folder: Path, docs: Path, page: Path) -> None:
    """All files of the report."""
    sections = all_sections(results, folder)
    images = docs / "images" / "benchmarks"
    images.mkdir(parents=True, exist_ok=True)
    for old in images.glob("*.svg"):
        old.unlink()
    figures = {name: drawing.to_svg(figure) for section in sections for name, _, figure in section.figures}
    for name, text in figures.items():
        (images / f"{name}.svg").write_text(text)
    made_from = f"<!-- made from {digest(folder)} -->"
    text = f"{made_from}\n\n{to_markdown(sections, introduction(results), 'images/benchmarks')}"
    (docs / "benchmarks.md").write_text(text)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(to_html(text, figures, os.path.relpath(docs, page.parent)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=records.FOLDER)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--page", type=Path, default=ROOT / "bench" / "results" / "benchmarks.html")
    arguments = parser.parse_args()
    store = records.Records(arguments.records)
    write(Results(store.load()), arguments.records, arguments.docs, arguments.page)
    print(arguments.docs / "benchmarks.md")
    print(arguments.page)


if __name__ == "__main__":
    main()
