"""Pictures of a study as Plotly figures. Plotly is imported when the first of them is drawn."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from photinus.errors import MissingDependency
from photinus.plots.source import Source

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class StudyPlots:
    """The pictures of one study: `study.plot`. Each call draws the study as it is at that moment.

    Wherever one `objective` is drawn and none is named, it is the study's first. Where `params` are left out, all
    that can vary are drawn, or as many as can be read.
    """

    def __init__(self, study: Source) -> None:
        self._study = study

    def __repr__(self) -> str:
        names = ", ".join(name for name in vars(StudyPlots) if not name.startswith("_"))
        return f"StudyPlots(study={self._study.name!r}): {names}"

    def history(self, objective: str | None = None, *, log_scale: bool | None = None) -> "Figure":
        """Values by trial number, and the best so far.

        Args:
            objective: its name; all of them, one below the other, if left out.
            log_scale: of the values; None for where they are positive and span more than a factor of 1,000.
        """
        require_plotly()
        from photinus.plots.history import history

        return history(self._study, objective, log_scale=log_scale)

    def parallel(self, objective: str | None = None, *, params: Sequence[str] | None = None) -> "Figure":
        """One line per trial through all its parameters; the best tenth stands out."""
        require_plotly()
        from photinus.plots.parallel import parallel

        return parallel(self._study, objective, params)

    def slice(self, objective: str | None = None, *, params: Sequence[str] | None = None) -> "Figure":
        """Values against each parameter."""
        require_plotly()
        from photinus.plots.slices import slices

        return slices(self._study, objective, params)

    def contour(
        self,
        objective: str | None = None,
        *,
        params: Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> "Figure":
        """What the model expects over two parameters, and the trials.

        Args:
            objective: its name.
            params: the two parameters; those to which the model reacts most sharply if left out.
            at: values of the other parameters; those of the best trial if left out.
        """
        require_plotly()
        from photinus.plots.contour import contour

        return contour(self._study, objective, params, at)

    def importance(self, objective: str | None = None) -> "Figure":
        """How much of the variation of the predicted values each parameter explains, alone and with others."""
        require_plotly()
        from photinus.plots.importance import importance

        return importance(self._study, objective)

    def pareto(self, objectives: Sequence[str] | None = None) -> "Figure":
        """Trials by objectives, with the Pareto set; every pair of them where there are more than two."""
        require_plotly()
        from photinus.plots.pareto import pareto

        return pareto(self._study, objectives)

    def timeline(self) -> "Figure":
        """When each trial ran, and who ran it."""
        require_plotly()
        from photinus.plots.timeline import timeline

        return timeline(self._study)

    def model(
        self,
        objective: str | None = None,
        *,
        params: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> "Figure":
        """What the model expects along one or two parameters: 5, 50 and 95 % quantiles of a measurement.

        Args:
            objective: its name.
            params: one parameter or two; the one to which the model reacts most sharply if left out.
            at: values of the other parameters; those of the best trial if left out.
        """
        require_plotly()
        from photinus.plots.model import model

        return model(self._study, objective, params, at)

    def calibration(self, objective: str | None = None) -> "Figure":
        """What the model expected of each trial before it ran, and what came."""
        require_plotly()
        from photinus.plots.calibration import calibration

        return calibration(self._study, objective)


def require_plotly() -> None:
    """Say how to install Plotly where it is missing."""
    try:
        found = find_spec("plotly") is not None
    except ValueError:  # what Python says of a package that is marked as absent
        found = False
    if not found:
        raise MissingDependency('pictures need plotly, which is not installed: pip install "photinus[plots]"')
