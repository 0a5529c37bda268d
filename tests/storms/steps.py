"""A study of one worker, one step at a time: `python steps.py ADDRESS` takes one with every line of its input.

It says what it did after each step. So a kill can come exactly between two steps, or somewhere inside one.
"""

import sys

import photinus as ph
from photinus import asking
from photinus.storage import StorageLike
from photinus.trial import Trial

STUDY, WORKER, SEED = "steps", "w", 11
NUM_TRIALS = 14
SPACE = {
    "lr": ph.Float(1e-5, 1e-1, scale="log"),
    "x": ph.Float(-5, 10),
    "layers": ph.Int(1, 8),
    "optimizer": ph.Categorical(["adam", "sgd"]),
}


def create(storage: StorageLike) -> ph.Study:
    """The study before its first trial, with a point that the user put in."""
    study = ph.create_study(SPACE, name=STUDY, storage=storage, seed=SEED)
    study.enqueue({"lr": 1e-3, "x": 0.1 + 0.2, "layers": 2, "optimizer": "sgd"})
    return study


def tell(study: ph.Study, trial: Trial) -> None:
    """What every run measures at a point: now and then nothing, and once a mistake that is corrected."""
    params = trial.params
    value = (params["x"] - 2) ** 2 / 3 + params["layers"] * params["lr"] + (params["optimizer"] == "sgd")
    match trial.number:
        case 4:
            study.tell(trial, failed="lost")
        case 6:
            study.tell(trial, infeasible="diverged")
        case 8:
            study.tell(trial, 2 * value)
            study.amend(trial, value)
        case _:
            study.tell(trial, value)


def main(address: str) -> None:
    """Go on with the study until it has all its trials."""
    # A process that is killed while it suggests keeps its successor waiting for so long.
    asking.LOCK_TTL_S = 1.0
    study = ph.load_study(STUDY, storage=address)
    while sum(trial.state.is_finished for trial in study.trials) < NUM_TRIALS:
        sys.stdin.readline()
        [trial] = study.ask(worker=WORKER)
        print("asked", trial.number, flush=True)
        sys.stdin.readline()
        tell(study, trial)
        print("told", trial.number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
