"""A batch for a lab: suggestions go out as a sheet, and come back filled in.

python examples/lab_batch.py
"""

import csv
import tempfile
from pathlib import Path

import photinus as ph
from photinus.errors import PhotinusError


def measure(row: dict[str, str]) -> str:
    """Stands for a day in the lab."""
    temperature, minutes = float(row["temperature [C]"]), int(row["minutes"])
    return f"{60 - 0.01 * (temperature - 180) ** 2 - 0.02 * (minutes - 40) ** 2:.1f}"


def fill_in(sheet: Path, unit: str) -> None:
    """Stands for a person with a spreadsheet program."""
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["hardness [HV]"] = measure(row) + unit
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Two batches of four, the first one with a slip."""
    study = ph.create_study(
        {"temperature [C]": ph.Float(120, 220), "minutes": ph.Int(10, 90)},
        objectives={"hardness [HV]": "maximize"},
        name="coating",
        seed=0,
    )
    with tempfile.TemporaryDirectory() as directory:
        for batch, unit in enumerate([" HV", ""]):
            sheet = Path(directory, f"batch-{batch}.csv")
            study.ask_sheet(sheet, 4)
            fill_in(sheet, unit)
            try:
                outcome = study.tell_sheet(sheet)
            except PhotinusError as error:
                print(str(error).splitlines()[1].strip())
                fill_in(sheet, "")
                outcome = study.tell_sheet(sheet)
            print(f"batch {batch}: {len(outcome.told)} results, best {study.best_trial.values}")


if __name__ == "__main__":
    main()
