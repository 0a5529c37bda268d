"""An Optuna study to read from: where it is, its parameters and its objectives."""

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError as AddressError
from sqlalchemy.exc import SQLAlchemyError

from photinus.errors import ArgumentError, PhotinusError, StorageError, UnknownStudy
from photinus.integrations.optuna_space import merge
from photinus.integrations.optuna_trials import metric_names
from photinus.integrations.packages import OPTUNA
from photinus.space import Parameter

with OPTUNA:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial

OPTUNA_TABLE = "version_info"  # every relational store of Optuna has it
RELATIONAL = ("sqlite", "postgresql", "mysql", "mariadb", "mssql", "oracle")


def open_study(source: str | BaseStorage | optuna.Study, study_name: str | None) -> optuna.Study:
    """The study itself, or one of a storage."""
    if isinstance(source, optuna.Study):
        if study_name not in (None, source.study_name):
            raise ArgumentError(
                f"`study_name` must be left out where a study is given, got {study_name!r} for {source.study_name!r}"
            )
        return source
    if isinstance(source, str):
        source = _open_storage(source)
    elif not isinstance(source, BaseStorage):
        raise ArgumentError(f"`source` must be an Optuna study, storage or address, got {source!r}")
    names = optuna.get_all_study_names(source)
    listing = ", ".join(map(repr, names)) or "none"
    if study_name is None and len(names) != 1:
        raise ArgumentError(f"`study_name` must say which study to import, the storage has {listing}")
    if study_name not in (None, *names):
        raise UnknownStudy(f"no Optuna study named {study_name!r} in that storage, it has {listing}")
    return optuna.load_study(study_name=names[0] if study_name is None else study_name, storage=source)


def _open_storage(address: str) -> BaseStorage:
    try:
        url = sa.make_url(address)
    except AddressError:
        raise ArgumentError(
            f"`source` must be an address such as sqlite:///optuna.db, got {address!r}"
        ) from None
    shown = url.render_as_string(hide_password=True)
    try:
        if url.get_backend_name() in RELATIONAL:  # whatever else Optuna knows; it will say so if it does not
            _check_database(url, shown)
        return optuna.storages.get_storage(address)
    except PhotinusError:
        raise
    except (SQLAlchemyError, ImportError, RuntimeError, ValueError) as error:
        # RuntimeError is for the tables of another version of Optuna, and says what to do about it.
        raise StorageError(f"the Optuna storage {shown} cannot be opened: {error}") from error


def _check_database(url: sa.URL, shown: str) -> None:
    """Refuse a database that is not Optuna's: it would make its tables there."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise ArgumentError(
            f"`source` must be an Optuna storage that exists, but there is no file of {shown}"
        )
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    is_optuna = sa.inspect(engine).has_table(OPTUNA_TABLE)
    engine.dispose()
    if not is_optuna:
        raise ArgumentError(f"`source` must be an Optuna storage, but {shown} is something else")


def read_parameters(study_name: str, trials: Sequence[FrozenTrial]) -> dict[str, Parameter]:
    """The parameters of all trials, in the order in which they turned up."""
    seen: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            known = seen.setdefault(name, [])
            if distribution not in known:
                known.append(distribution)
    if not seen:
        raise ArgumentError(
            f"the space of an Optuna study is known from its trials, but none of the {len(trials)} trials of "
            f"{study_name!r} has a parameter: use photinus.create_study"
        )
    return {name: merge(name, distributions) for name, distributions in seen.items()}


def read_objectives(study: optuna.Study, names: Sequence[str] | None) -> dict[str, str]:
    """Goals by name, under the given names if there are any."""
    directions = study.directions
    chosen = list(names or study.metric_names or metric_names(len(directions)))
    if len(set(chosen)) < len(chosen) or len(chosen) != len(directions):
        raise ArgumentError(f"`objectives` must be {len(directions)} distinct names, got {chosen}")
    goals = ["maximize" if d == StudyDirection.MAXIMIZE else "minimize" for d in directions]
    return dict(zip(chosen, goals, strict=True))
