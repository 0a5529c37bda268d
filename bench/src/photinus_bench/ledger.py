"""What servers acknowledged, held against what their store has in the end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from photinus.storage import Storage
from photinus.trial import TrialState

Tell = tuple[str, int, float]  # study, trial, value


@dataclass(frozen=True)
class Audit:
    """How many acknowledged tells there were, and what is wrong with which."""

    num_acknowledged: int
    lost: list[str]  # acknowledged, but not in the store with that value
    doubled: list[str]  # acknowledged more than once
    unheard: list[str]  # in the store, but acknowledged to nobody
    left_over: list[str]  # handed out, and told by nobody

    @property
    def is_clean(self) -> bool:
        """Everything acknowledged is there once, and nothing else is."""
        return not (self.lost or self.doubled or self.unheard or self.left_over)

    def summary(self) -> str:
        """One line."""
        words = ("lost", "doubled", "unheard", "left_over")
        counts = ", ".join(f"{len(getattr(self, word))} {word.replace('_', ' ')}" for word in words)
        return f"{self.num_acknowledged} acknowledged tells: {counts}"


def audit(storage: Storage, studies: Sequence[str], tells: Sequence[Tell], project: str = "default") -> Audit:
    """Compare workers' notes with all trials of their studies."""
    lost: list[str] = []
    unheard: list[str] = []
    left_over: list[str] = []
    told = {(study, number): value for study, number, value in tells}
    counts = Counter((study, number) for study, number, _ in tells)
    seen: set[tuple[str, int]] = set()
    for study in studies:
        record = storage.find_study(project, study)
        for trial in storage.get_trials(record.id):
            key = (study, trial.number)
            seen.add(key)
            if key in told:
                found = (trial.state, trial.values, trial.amendments)
                if found != (TrialState.COMPLETED, {"value": told[key]}, ()):
                    lost.append(f"{study} {trial.number}: told {told[key]}, but it is {found}")
            elif trial.state == TrialState.COMPLETED:
                unheard.append(f"{study} {trial.number}")
            else:
                left_over.append(f"{study} {trial.number} ({trial.state.value})")
    lost += [f"{study} {number} is not there" for study, number in told.keys() - seen]
    doubled = [f"{study} {number}: {count} times" for (study, number), count in counts.items() if count > 1]
    return Audit(len(tells), lost, doubled, unheard, left_over)
